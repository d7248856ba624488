/* Core dumps: none of ours, for passwords are in our memory while we run. */
#ifndef CLI_CORE_H
#define CLI_CORE_H

/* cli_core_forbid  - first of all, once. The guardian inherits it.
 * cli_core_inherit - in the command's process: its limit is as it was. */
void cli_core_forbid(void);
void cli_core_inherit(void);

#endif
