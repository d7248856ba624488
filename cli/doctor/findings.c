/* Facts in, findings out. */
/* Tests: tests/test_cli_doctor.c. */
#include "cli/doctor/findings.h"
#include "net/base/mem.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* More than all rules of all servers can find. */
#define FINDINGS_MAX 65536

static struct doctor_finding *add_finding(struct doctor_findings *out,
                                          enum doctor_severity severity,
                                          const char *address)
{
    struct doctor_finding *f;

    if (out->count == out->capacity &&
        !hf_mem_grow(&hf_mem_libc, &out->list, &out->capacity, sizeof *out->list,
                     out->count + 1, FINDINGS_MAX)) {
        out->is_out_of_memory = true;
        return NULL;
    }
    f = &out->list[out->count++];
    *f = (struct doctor_finding){.severity = severity, .address = address};
    out->count_by_severity[severity]++;
    return f;
}

/* What could not be seen of a server, and the worst severity of what it might
 * hide. */
struct unseen_facts {
    char names[DOCTOR_TEXT_MAX];
    enum doctor_severity worst_severity;
};

/* What does not fit is cut. */
static void add_unseen_fact(struct unseen_facts *unseen, const char *what,
                            enum doctor_severity severity)
{
    size_t len = strlen(unseen->names);

    if (severity > unseen->worst_severity)
        unseen->worst_severity = severity;
    if (!strstr(unseen->names, what))
        (void)snprintf(unseen->names + len, sizeof unseen->names - len, "%s%s",
                       len ? ", " : "", what);
}

static void apply_rule(struct doctor_rule_on_server *c, struct doctor_findings *out,
                       struct unseen_facts *unseen)
{
    const struct doctor_rule *rule = c->rule;
    enum doctor_verdict verdict =
        !rule->applies_when || rule->applies_when(c) ? rule->test(c) : VERDICT_NONE;
    struct doctor_finding *f;

    if (verdict == VERDICT_UNSEEN)
        add_unseen_fact(unseen, c->value_text, rule->severity);
    if (verdict != VERDICT_FOUND && verdict != VERDICT_FINE)
        return;
    f = add_finding(out,
                    verdict == VERDICT_FOUND ? rule->severity : DOCTOR_FINE,
                    c->server ? c->server->address : "");
    if (!f)
        return;
    f->rule_id = rule->id;
    f->meaning = rule->meaning;
    f->advice = rule->advice;
    memcpy(f->text, c->value_text, sizeof f->text);
}

static bool is_server_in_scope(enum doctor_scope scope, const struct doctor_server *s)
{
    switch (scope) {
    case SCOPE_ANY:
        return s != NULL;
    case SCOPE_NODE:
        return s && s->is_reached && !s->is_sentinel;
    case SCOPE_MASTER:
        return s && s->is_reached && doctor_is_master(s);
    case SCOPE_REPLICA:
        return s && s->is_reached && !s->is_sentinel && !doctor_is_master(s);
    case SCOPE_SENTINEL:
        return s && s->is_reached && s->is_sentinel;
    case SCOPE_WHOLE:
        return s == NULL;
    }
    return false;
}

static void add_finding_of_unseen(struct doctor_findings *out,
                                  const struct doctor_server *s,
                                  const struct unseen_facts *unseen)
{
    bool may_be_unsafe = unseen->worst_severity == DOCTOR_UNSAFE;
    struct doctor_finding *f;

    if (unseen->worst_severity == DOCTOR_FINE ||
        !(f = add_finding(out, may_be_unsafe ? DOCTOR_WARNING : DOCTOR_NOTE,
                          s ? s->address : "")))
        return;
    f->rule_id = "unseen";
    f->meaning = may_be_unsafe ? "it may be unsafe"
                               : "a problem there is not noticed";
    f->advice = "run doctor as a user with permission for INFO, CONFIG GET, TIME and, "
                "in a cluster, CLUSTER";
    (void)snprintf(f->text, sizeof f->text, "could not check: %.480s",
                   unseen->names);
}

static void apply_rules_to_server(const struct doctor_facts *facts,
                                  const struct doctor_server *s,
                                  struct doctor_findings *out)
{
    static const struct doctor_rule *const tables[] = {doctor_rules_server,
                                                       doctor_rules_topology};
    struct unseen_facts unseen = {"", DOCTOR_FINE};

    for (size_t i = 0; i < sizeof tables / sizeof *tables; i++)
        for (const struct doctor_rule *rule = tables[i]; rule->id; rule++) {
            struct doctor_rule_on_server c = {.rule = rule, .facts = facts, .server = s};

            if (is_server_in_scope(rule->scope, s))
                apply_rule(&c, out, &unseen);
        }
    add_finding_of_unseen(out, s, &unseen);
}

/* Sorts by severity and keeps the order of judging, which qsort would not. */
static void sort_findings(struct doctor_findings *out)
{
    struct doctor_finding *sorted = calloc(out->count, sizeof *sorted);
    uint32_t n = 0;

    if (!sorted) {
        out->is_out_of_memory = out->count > 0;
        return;
    }
    for (int severity = DOCTOR_UNSAFE; severity >= DOCTOR_FINE; severity--)
        for (uint32_t i = 0; i < out->count; i++)
            if ((int)out->list[i].severity == severity)
                sorted[n++] = out->list[i];
    memcpy(out->list, sorted, n * sizeof *sorted);
    free(sorted);
}

void doctor_apply_rules(const struct doctor_facts *facts, struct doctor_findings *out)
{
    *out = (struct doctor_findings){0};
    apply_rules_to_server(facts, NULL, out);
    for (uint32_t i = 0; i < facts->servers_count; i++)
        apply_rules_to_server(facts, facts->servers[i], out);
    sort_findings(out);
}

void doctor_findings_fini(struct doctor_findings *findings)
{
    hf_mem_free(&hf_mem_libc, findings->list,
                findings->capacity * sizeof *findings->list);
    *findings = (struct doctor_findings){0};
}
