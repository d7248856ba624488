/* What each program of ours does first and last. */
#ifndef CLI_PROGRAM_H
#define CLI_PROGRAM_H

/* cli_program_begin - before anything else: `name` begins each message, no core is
 *   dumped, signals are as a program expects them, and the first three descriptors are
 *   open.
 * cli_program_end - returns `code`, or CLI_EXIT_ERROR if what was printed could not be
 *   written: a full disk must not look like success. */
void cli_program_begin(const char *name);
int cli_program_end(int code);

#endif
