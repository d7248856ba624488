/* A password file that is read again for each connection, in a separate thread: a file system
 * that does not reply (NFS, FUSE) blocks that thread, and not the one that renews. There is at
 * most one such thread for each file. It cannot be stopped; if it is still blocked, it ends with
 * the process. */
#ifndef CLI_PASSWORD_FILE_H
#define CLI_PASSWORD_FILE_H

#include <stdbool.h>

#include "cli/base/secret.h"

struct cli_password_file;

/* How long cli_password_file_read waits for the thread. */
#define CLI_PASSWORD_WAIT_MS 200

/* cli_password_file_new - returns NULL if there is no memory.
 *   path  borrowed until the process ends
 *   text  the password that was read before; copied */
struct cli_password_file *cli_password_file_new(const char *path, const char *text);

/* cli_password_file_read - starts a thread that reads the file, unless one runs already, and
 *   waits for it: CLI_PASSWORD_WAIT_MS at most, and not at all if an earlier call waited in
 *   vain for the same thread. If the thread has not ended by then, it returns the password that
 *   was read last, and prints a note that names the file, once for each thread. It does the same,
 *   once, if the file cannot be read.
 *   was_refused  the server refused the password that was read last: if the thread has not
 *                ended, or the file cannot be read, this is an error. A thread that began before
 *                the refusal and found the same password does not count: another one begins
 *   *out         lent until the next call
 * Returns HF_OK; HF_E_SYSTEM, HF_E_NOMEM or the error of cli_secret_reread, after writing *err. */
hf_status cli_password_file_read(struct cli_password_file *file, bool was_refused,
                                 const char **out, struct hf_error *err);

/* cli_password_file_free - also overwrites the passwords. NULL is allowed. */
void cli_password_file_free(struct cli_password_file *file);

#endif
