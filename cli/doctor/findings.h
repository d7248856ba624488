/* Applies all rules to the facts of all servers. Pure. */
#ifndef CLI_DOCTOR_FINDINGS_H
#define CLI_DOCTOR_FINDINGS_H

#include "cli/doctor/rules.h"

struct doctor_finding {
    enum doctor_severity severity;
    const char *rule_id;
    const char *address;        /* "": of the whole; borrowed from the facts */
    const char *meaning;
    const char *advice;
    char text[DOCTOR_TEXT_MAX];
};

struct doctor_findings {
    struct doctor_finding *list;/* worst first, then in the order of servers */
    uint32_t count;
    uint32_t capacity;
    uint32_t count_by_severity[DOCTOR_SEVERITIES];
    bool is_out_of_memory;      /* memory ran out */
};

/* doctor_apply_rules - returns the findings of all rules for all servers, including passed checks.
 *   All facts that a server refuses to show are one finding.
 * doctor_findings_fini - frees the findings. */
void doctor_apply_rules(const struct doctor_facts *facts,
                        struct doctor_findings *out);
void doctor_findings_fini(struct doctor_findings *findings);

#endif
