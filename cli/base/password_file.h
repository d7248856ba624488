/* A password file that is read again for each connection, in a separate thread: a file system
 * that does not reply (NFS, FUSE) stops that thread, and not the one that renews. There is at
 * most one such thread for a file. It cannot be stopped; if it still waits, it ends with the
 * process. */
#ifndef CLI_PASSWORD_FILE_H
#define CLI_PASSWORD_FILE_H

#include <stdbool.h>

#include "cli/base/secret.h"

struct cli_password_file;

/* cli_password_file_new - returns NULL if there is no memory.
 *   path  borrowed until the process ends
 *   text  the password that was read before; copied
 *
 * cli_password_file_read - reads the file again, or waits for the thread that reads it. It
 *   waits CLI_PASSWORD_WAIT_MS at most, and not at all if an earlier call waited in vain for
 *   the same thread. After that it uses the password that was read last, and prints a note
 *   that names the file; without a note if it did so for the same thread.
 *   was_refused  the server refused that password: without a new one it fails
 *   *out         lent until the next call
 *   Returns HF_OK; HF_E_SYSTEM or what cli_secret_again returns, after writing *err.
 *
 * cli_password_file_free - wipes the passwords. NULL is allowed. */
#define CLI_PASSWORD_WAIT_MS 200
struct cli_password_file *cli_password_file_new(const char *path, const char *text);
hf_status cli_password_file_read(struct cli_password_file *file, bool was_refused,
                                 const char **out, struct hf_error *err);
void cli_password_file_free(struct cli_password_file *file);

#endif
