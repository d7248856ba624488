/* Forbids our core dumps, to files and to a piped core_pattern, because passwords are
 * in our memory while we run. */
#ifndef CLI_CORE_DUMP_H
#define CLI_CORE_DUMP_H

/* cli_core_dump_forbid  - forbids core dumps. Call it once, before anything else; the guardian
 *                    inherits it.
 * cli_core_dump_restore - restores the limit in the command's process. */
void cli_core_dump_forbid(void);
void cli_core_dump_restore(void);

#endif
