/* Forbids our core dumps, to files and to a piped core_pattern, because passwords are
 * in our memory while we run. */
#ifndef CLI_CORE_H
#define CLI_CORE_H

/* cli_core_forbid  - once, before anything else. The guardian inherits it.
 * cli_core_inherit - in the command's process: restores the limit. */
void cli_core_forbid(void);
void cli_core_inherit(void);

#endif
