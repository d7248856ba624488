/* `holdfast-resp check`: does a server speak RESP as specified? */
#ifndef TOOLS_RESP_CHECK_H
#define TOOLS_RESP_CHECK_H

#include "cli/base/common.h"

/* cli_resp_check - tries the server that `common` names, and prints a row for
 *   each check. `protocol` 2 or 3: only that one; 0: both. Returns the exit
 *   code. */
int cli_resp_check(const struct cli_common *common, int protocol);

#endif
