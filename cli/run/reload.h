/* Reads the TLS files in a separate thread, and discards the contents, before hf_client_reload
 * reads them: a file system that does not reply (NFS) then stops this thread, and not the one
 * that renews. There is at most one such thread. It cannot be stopped; if it still waits at the
 * end of a session, it ends with the process. */
#ifndef CLI_RUN_RELOAD_H
#define CLI_RUN_RELOAD_H

#include <stdbool.h>

#include "cli/base/common.h"

struct cli_reload {
    struct hf_loop *loop;       /* NULL: no thread reads */
    struct hf_io io;            /* a pipe to which the thread writes a byte at its end */
    bool are_files_read;        /* that byte has arrived */
};

/* cli_reload_begin - begins to read all files that the options and URLs name. False: there are
 *                    none, or no thread can be started. If a thread already reads, prints a
 *                    note and returns true: one reload follows.
 * cli_reload_after_turn  - returns whether the thread has ended; hf_client_reload then reads and
 *                    checks the files. Call it after each hf_loop_dispatch.
 * cli_reload_close - stops waiting for the thread. Also if it is all zero. */
bool cli_reload_begin(struct cli_reload *reload, struct hf_loop *loop,
                      const struct cli_common *common);
bool cli_reload_after_turn(struct cli_reload *reload);
void cli_reload_close(struct cli_reload *reload);

#endif
