/* Prints the findings, for a person or a program. */
#ifndef CLI_DOCTOR_OUTPUT_H
#define CLI_DOCTOR_OUTPUT_H

#include "cli/base/common.h"
#include "cli/doctor/findings.h"

/* doctor_print - prints a line for each finding (passed checks only if verbose), and then a
 *   summary. With --json, an object on each line. Quiet: nothing.
 * Returns CLI_CONTINUE, or CLI_EXIT_ERROR after reporting the error. */
int doctor_print(const struct cli_common *common,
                 const struct doctor_facts *facts,
                 const struct doctor_findings *findings);

#endif
