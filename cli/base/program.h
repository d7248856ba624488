/* The first and last steps of each program. */
#ifndef CLI_PROGRAM_H
#define CLI_PROGRAM_H

/* cli_program_begin - prepares the program: `name` begins each message, core dumps are off,
 *   signals have the usual handlers, and the first three descriptors are open. Call it first.
 * cli_program_end - returns `code`, or CLI_EXIT_ERROR if the output could not be written: a
 *   full disk must not look like success. */
void cli_program_begin(const char *name);
int cli_program_end(int code);

#endif
