/* Reads the TLS files before they are used, in a thread of its own: a file system that does not
 * answer (NFS) must not stop the thread that renews. One thread at most reads. It cannot be
 * stopped: one that still waits at the end of a session ends with the process. */
#ifndef CLI_RUN_RELOAD_H
#define CLI_RUN_RELOAD_H

#include <stdbool.h>

#include "cli/base/common.h"

struct cli_reload {
    struct hf_loop *loop;       /* NULL: no thread reads */
    struct hf_io io;            /* a pipe into which the thread writes at its end */
    bool is_read;               /* noted in a turn of the loop */
};

/* cli_reload_begin - begins to read all files that the options and URLs name; false: there are
 *                    none, or no thread can be made. If one reads already, this is one more
 *                    reason for it, and a note says that the files are still awaited.
 * cli_reload_turn  - after each hf_loop_dispatch: returns whether the files were read since.
 *                    Whether they can be used is for hf_client_reload to say.
 * cli_reload_close - forgets the thread. Also if it is all zero. */
bool cli_reload_begin(struct cli_reload *reload, struct hf_loop *loop,
                      const struct cli_common *common);
bool cli_reload_turn(struct cli_reload *reload);
void cli_reload_close(struct cli_reload *reload);

#endif
