/* Findings, for a person or a program. */
/* Tests: tests/live/cli/test_doctor.c. */
#include "cli/doctor/output.h"

#include <stdio.h>
#include <string.h>

#include "cli/base/json.h"
#include "cli/base/report.h"

static const char *const severities[] = {
    [DOCTOR_FINE] = "fine",
    [DOCTOR_NOTE] = "note",
    [DOCTOR_WARNING] = "warning",
    [DOCTOR_UNSAFE] = "UNSAFE",
};

static const char *const topologies[] = {
    [HF_STANDALONE] = "standalone",
    [HF_CLUSTER] = "cluster",
    [HF_SENTINEL] = "sentinel",
    [HF_REPLICATED] = "replicas",
};

static uint32_t count_servers_reached(const struct doctor_facts *facts)
{
    uint32_t n = 0;

    for (uint32_t i = 0; i < facts->servers_count; i++)
        n += facts->servers[i]->is_reached;
    return n;
}

/* ---- for a person ---- */

/* The text of a failure to connect begins with the address. */
static bool begins_with_address(const struct doctor_finding *f)
{
    return strncmp(f->text, f->address, strlen(f->address)) == 0;
}

static void print_finding_line(const struct doctor_finding *f)
{
    bool has_address = f->address[0] && !begins_with_address(f);

    (void)printf("%-8s%s%s%s", severities[f->severity],
                 has_address ? f->address : "", has_address ? ": " : "",
                 f->text);
    if (f->severity != DOCTOR_FINE)
        (void)printf(": %s. %c%s [%s]", f->meaning,
                     f->advice[0] - ('a' <= f->advice[0] && f->advice[0] <= 'z'
                                         ? 'a' - 'A'
                                         : 0),
                     f->advice + 1, f->rule_id);
    (void)puts("");
}

static const char *plural_suffix(size_t count)
{
    return count == 1 ? "" : "s";
}

static void print_summary(const struct doctor_facts *facts,
                          const struct doctor_findings *findings)
{
    (void)printf("%s, %u of %u servers reached: %u unsafe, %u warning%s, "
                 "%u note%s, %u fine\n",
                 topologies[facts->topology], (unsigned)count_servers_reached(facts),
                 (unsigned)facts->servers_count,
                 (unsigned)findings->count_by_severity[DOCTOR_UNSAFE],
                 (unsigned)findings->count_by_severity[DOCTOR_WARNING],
                 plural_suffix(findings->count_by_severity[DOCTOR_WARNING]),
                 (unsigned)findings->count_by_severity[DOCTOR_NOTE],
                 plural_suffix(findings->count_by_severity[DOCTOR_NOTE]),
                 (unsigned)findings->count_by_severity[DOCTOR_FINE]);
}

/* ---- for a program ---- */

/* JSON has severities in lower case. */
static const char *json_word_of_severity(enum doctor_severity severity)
{
    return severity == DOCTOR_UNSAFE ? "unsafe" : severities[severity];
}

static int print_finding_json(const struct doctor_finding *f)
{
    struct cli_json j;

    cli_json_init(&j);
    cli_json_text(&j, "severity", json_word_of_severity(f->severity));
    cli_json_text(&j, "rule", f->rule_id);
    if (f->address[0])
        cli_json_text(&j, "address", f->address);
    cli_json_text(&j, "found", f->text);
    if (f->severity != DOCTOR_FINE) {
        cli_json_text(&j, "meaning", f->meaning);
        cli_json_text(&j, "advice", f->advice);
    }
    return cli_json_print(&j);
}

static int print_json_summary(const struct doctor_facts *facts,
                              const struct doctor_findings *findings)
{
    struct cli_json j;

    cli_json_init(&j);
    cli_json_text(&j, "topology", topologies[facts->topology]);
    cli_json_integer(&j, "servers", facts->servers_count);
    cli_json_integer(&j, "reached", count_servers_reached(facts));
    for (int i = DOCTOR_SEVERITIES - 1; i >= DOCTOR_FINE; i--)
        cli_json_integer(&j, json_word_of_severity((enum doctor_severity)i),
                         findings->count_by_severity[i]);
    return cli_json_print(&j);
}

/* ---- both ---- */

static int print_finding(const struct cli_common *common,
                         const struct doctor_finding *f)
{
    if (f->severity == DOCTOR_FINE && !common->is_verbose)
        return CLI_CONTINUE;
    if (common->is_json)
        return print_finding_json(f);
    print_finding_line(f);
    return CLI_CONTINUE;
}

int doctor_print(const struct cli_common *common,
                 const struct doctor_facts *facts,
                 const struct doctor_findings *findings)
{
    int rc = CLI_CONTINUE;

    if (common->is_quiet)
        return CLI_CONTINUE;
    for (uint32_t i = 0; i < findings->count && rc == CLI_CONTINUE; i++)
        rc = print_finding(common, &findings->list[i]);
    if (rc != CLI_CONTINUE)
        return rc;
    if (common->is_json)
        return print_json_summary(facts, findings);
    print_summary(facts, findings);
    return CLI_CONTINUE;
}
