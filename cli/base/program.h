/* The first and last steps of each program. */
#ifndef CLI_PROGRAM_H
#define CLI_PROGRAM_H

/* cli_program_begin - prepares the program: `name` begins each message, core dumps are off,
 *   signals have the usual handlers, and the first three descriptors are open. Call it first.
 * cli_program_flush - writes the output out, for a program that must undo what it cannot print.
 *   If that fails, it reports the error, followed by `consequence`, and returns CLI_EXIT_ERROR;
 *   cli_program_end does not report it again. Otherwise it returns CLI_CONTINUE.
 * cli_program_end - returns `code`, or CLI_EXIT_ERROR if the output could not be written: a
 *   full disk must not look like success. */
void cli_program_begin(const char *name);
int cli_program_flush(const char *consequence);
int cli_program_end(int code);

#endif
