/* A command that a script needs and the server does not have. Private to lock/. */
#ifndef HF_MISSING_COMMAND_H
#define HF_MISSING_COMMAND_H

#include "lock/script/scripts.h"
#include "resp/resp.h"

#define HF_MISSING_ADVICE_MAX 200   /* one sentence and the names of some commands */

/* hf_missing_command_advice - if the script failed because the server does not know one of its
 *   commands (missing, renamed): writes what to do, with the command's name where the
 *   error gives its line, else with all that the script calls. Returns dst, or NULL:
 *   the error has another reason. */
const char *hf_missing_command_advice(const struct hf_script *script,
                                      struct hf_resp_value reply,
                                      char dst[HF_MISSING_ADVICE_MAX]);

#endif
