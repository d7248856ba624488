/* Findings, for a person or a program. */
#ifndef CLI_DOCTOR_OUTPUT_H
#define CLI_DOCTOR_OUTPUT_H

#include "cli/base/common.h"
#include "cli/doctor/findings.h"

/* doctor_print - a line for each finding, what is fine only if verbose; then
 *   one that sums up. With --json, an object a line. Quiet: nothing.
 * Returns CLI_CONTINUE, or CLI_EXIT_ERROR and reported. */
int doctor_print(const struct cli_common *common,
                 const struct doctor_facts *facts,
                 const struct doctor_findings *findings);

#endif
