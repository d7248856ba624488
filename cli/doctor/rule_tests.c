/* The tests that many rules share, and the texts of these rules. */
/* Tests: tests/test_cli_doctor.c. */
#include "cli/doctor/rules.h"
#include "net/base/url.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* ---- tests of several rules ---- */

bool doctor_is_refused(const struct doctor_server *s,
                       enum doctor_permission permission)
{
    return s->permissions[permission].permission == MAY_FORBIDDEN_COMMAND ||
           s->permissions[permission].permission == MAY_UNKNOWN_COMMAND;
}

/* Decides as routing does: the first node that replies is used. */
bool doctor_is_sharded(const struct doctor_facts *facts)
{
    if (facts->topology != HF_CLUSTER || facts->sharded == HF_SHARDED_OFF)
        return false;
    if (facts->sharded == HF_SHARDED_ON)
        return true;
    for (uint32_t i = 0; i < facts->servers_count; i++)
        if (facts->servers[i]->permissions[MAY_SHARDNUMSUB].permission == MAY_PERMITTED)
            return true;
    return false;
}

/* A server that is not a node of a cluster has a rule of its own ("kind"). */
bool doctor_in_cluster(const struct doctor_rule_on_server *c)
{
    return c->facts->topology == HF_CLUSTER &&
           !doctor_fact_is(c->server, FACT_CLUSTER_ENABLED, "0");
}

int64_t doctor_replica_count(const struct doctor_facts *facts,
                             const struct doctor_server *master)
{
    int64_t connected = 0, known = 0;

    (void)doctor_fact_number(master, FACT_REPLICAS, &connected);
    for (uint32_t i = 0; i < facts->servers_count; i++) {
        int index = facts->servers[i]->master_index;

        known += index >= 0 && facts->servers[index] == master;
    }
    return known > connected ? known : connected;
}

int64_t doctor_renewal_interval_ms(const struct doctor_facts *facts)
{
    return facts->ttl_ms / 3;
}

/* ---- verdicts ---- */

enum doctor_verdict doctor_verdict_found(struct doctor_rule_on_server *c, const char *format, ...)
{
    va_list list;

    va_start(list, format);
    (void)vsnprintf(c->value_text, sizeof c->value_text, format, list);
    va_end(list);
    return VERDICT_FOUND;
}

enum doctor_verdict doctor_verdict_fine(struct doctor_rule_on_server *c, const char *format, ...)
{
    va_list list;

    va_start(list, format);
    (void)vsnprintf(c->value_text, sizeof c->value_text, format, list);
    va_end(list);
    return VERDICT_FINE;
}

enum doctor_verdict doctor_verdict_unseen(struct doctor_rule_on_server *c, const char *what)
{
    (void)snprintf(c->value_text, sizeof c->value_text, "%s", what);
    return VERDICT_UNSEEN;
}

static enum doctor_verdict verdict_if_unknown(struct doctor_rule_on_server *c)
{
    return c->rule->unseen_text ? doctor_verdict_unseen(c, c->rule->unseen_text) : VERDICT_NONE;
}

/* ---- the text of a row ---- */

/* Counts as routing does. */
static int64_t replicas_wanted(const struct doctor_rule_on_server *c)
{
    int64_t known = doctor_replica_count(c->facts, c->server);

    if (c->facts->replicas == HF_REPLICAS_ALL)
        return known;
    return c->facts->replicas == HF_REPLICAS_MAJORITY ? (known + 1) / 2
                                                      : c->facts->replicas;
}

static int64_t rule_limit(const struct doctor_rule_on_server *c)
{
    switch (c->rule->limit) {
    case LIMIT_RENEWAL_MS:
        return doctor_renewal_interval_ms(c->facts);
    case LIMIT_RENEWAL_S:
        return doctor_renewal_interval_ms(c->facts) / 1000;
    case LIMIT_REPLICAS:
        return replicas_wanted(c);
    default:
        return c->rule->limit;
    }
}

#define DIGITS_MAX 24   /* of a 64-bit number */

static const char *write_digits(char digits[DIGITS_MAX], int64_t n)
{
    (void)snprintf(digits, DIGITS_MAX, "%" PRId64, n);
    return digits;
}

/* Returns what replaces the part of a row's text that begins at this brace. */
static const char *expand_placeholder(const struct doctor_rule_on_server *c, const char *brace,
                                      const char *value, char digits[DIGITS_MAX])
{
    switch (brace[1]) {
    case 's':
        return strcmp(value, "1") == 0 ? "" : "s";
    case 'l':
        return write_digits(digits, rule_limit(c));
    case 'b':
        return write_digits(digits, doctor_renewal_interval_ms(c->facts));
    case 'w':
        return c->server->permissions[c->rule->permissions[0]].error_text;
    default:
        return value;
    }
}

/* Writes the verdict on a value as the row says it, cut to what fits. */
static enum doctor_verdict write_verdict(struct doctor_rule_on_server *c, bool is_fine,
                                         const char *value)
{
    const char *at =
        is_fine && c->rule->fine_text ? c->rule->fine_text : c->rule->found_text;
    char digits[DIGITS_MAX];

    for (size_t len = 0; *at && len < sizeof c->value_text;) {
        int plain = (int)strcspn(at, "{");
        const char *brace = at + plain, *end = strchr(brace, '}');

        len += (size_t)snprintf(c->value_text + len, sizeof c->value_text - len, "%.*s%s",
                                plain, at,
                                end ? expand_placeholder(c, brace, value, digits) : "");
        at = end ? end + 1 : brace;
    }
    return is_fine ? VERDICT_FINE : VERDICT_FOUND;
}

/* ---- tests ---- */

enum doctor_verdict doctor_test_equals(struct doctor_rule_on_server *c)
{
    const char *text = c->server->facts[c->rule->fact];

    return text ? write_verdict(c, strcmp(text, c->rule->good_value) == 0, text)
                : verdict_if_unknown(c);
}

static bool read_tested_number(const struct doctor_rule_on_server *c, int64_t *out)
{
    if (c->rule->measure)
        return c->rule->measure(c, out);
    return doctor_fact_number(c->server, c->rule->fact, out);
}

/* A number from `least` to `most` is fine. */
static enum doctor_verdict test_range(struct doctor_rule_on_server *c, int64_t least,
                                      int64_t most)
{
    char digits[DIGITS_MAX];
    int64_t n;

    if (!read_tested_number(c, &n))
        return verdict_if_unknown(c);
    return write_verdict(c, n >= least && n <= most, write_digits(digits, n));
}

enum doctor_verdict doctor_test_at_least(struct doctor_rule_on_server *c)
{
    return test_range(c, rule_limit(c), INT64_MAX);
}

enum doctor_verdict doctor_test_at_most(struct doctor_rule_on_server *c)
{
    return test_range(c, INT64_MIN, rule_limit(c));
}

enum doctor_verdict doctor_test_within(struct doctor_rule_on_server *c)
{
    return test_range(c, 1, rule_limit(c));
}

enum doctor_verdict doctor_test_outside(struct doctor_rule_on_server *c)
{
    int64_t n;

    return read_tested_number(c, &n) && n == 0 ? test_range(c, 0, 0)
                                       : test_range(c, rule_limit(c) + 1, INT64_MAX);
}

/* Messages are sharded, plain, or, with sharded=both, both. */
static bool is_permission_needed(const struct doctor_facts *facts,
                                 enum doctor_permission permission)
{
    switch (permission) {
    case MAY_SPUBLISH:
    case MAY_SSUBSCRIBE:
        return doctor_is_sharded(facts);
    case MAY_PUBLISH:
    case MAY_SUBSCRIBE:
        return !doctor_is_sharded(facts) || facts->sharded == HF_SHARDED_BOTH;
    default:
        return true;
    }
}

/* Other rules report that a key, a channel or every write is refused. */
static enum doctor_verdict test_permission(struct doctor_rule_on_server *c,
                                           enum doctor_permission permission)
{
    const char *name = doctor_permission_names[permission];

    switch (c->server->permissions[permission].permission) {
    case MAY_NOT_ANSWERED:
        return doctor_verdict_unseen(c, name);
    case MAY_FORBIDDEN_COMMAND:
        return doctor_verdict_found(c, "the ACL forbids %s", name);
    case MAY_UNKNOWN_COMMAND:
        return doctor_verdict_found(c, "the server has no %s (renamed?)", name);
    default:
        return doctor_verdict_fine(c, "%s is permitted", name);
    }
}

enum doctor_verdict doctor_test_permits(struct doctor_rule_on_server *c)
{
    const struct doctor_rule *rule = c->rule;
    enum doctor_verdict verdict = VERDICT_FINE;

    for (int i = 0; i < DOCTOR_RULE_PERMISSIONS && rule->permissions[i]; i++) {
        enum doctor_permission permission = rule->permissions[i];

        if (is_permission_needed(c->facts, permission) &&
            (verdict = test_permission(c, permission)) != VERDICT_FINE)
            return verdict;
    }
    return rule->fine_text ? doctor_verdict_fine(c, "%s", rule->fine_text) : verdict;
}

enum doctor_verdict doctor_test_answers(struct doctor_rule_on_server *c)
{
    const struct doctor_answer *answer = &c->server->permissions[c->rule->permissions[0]];

    if (answer->permission == MAY_NOT_ANSWERED)
        return verdict_if_unknown(c);
    return write_verdict(c, answer->permission == MAY_PERMITTED, "");
}

enum doctor_verdict doctor_test_always(struct doctor_rule_on_server *c)
{
    const char *fact = c->rule->fact ? c->server->facts[c->rule->fact] : "";

    return c->rule->measure ? test_range(c, 1, 0) : write_verdict(c, false, fact);
}
