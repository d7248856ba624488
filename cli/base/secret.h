/* Reads passwords, and hides them where others could see them. */
#ifndef CLI_SECRET_H
#define CLI_SECRET_H

#include <stdbool.h>

#include "cli/base/command.h"
#include "net/net.h"

/* The longest password that the library accepts, and a NUL. */
#define CLI_SECRET_MAX (HF_LOGIN_MAX + 1)

/* cli_secret_read - reads the first line of a file, without its end. Returns CLI_CONTINUE, or
 *                   CLI_EXIT_ERROR after reporting the error. The caller overwrites dst by
 *                   explicit_bzero. A pipe is read for a limited time.
 * cli_secret_reread - reads a regular file again; the caller reports *err. It blocks for as
 *                   long as the file system does not reply. Any thread.
 * cli_secret_hide_in_url - replaces the passwords in a URL, of the server and of a key, by
 *                   asterisks, in place.
 * cli_secret_remove_from_url - removes the logins and the password of a key from a URL that is
 *                   right, in place. The result is a URL. */
struct cli_secret_file {
    bool is_open_to_others;     /* becomes true if others can change it (its group, or an owner who
                                   is neither this user nor root), or others than its owner and
                                   group can read it */
    bool is_regular;            /* a pipe can be read only once */
};

int cli_secret_read(char dst[CLI_SECRET_MAX], const char *path,
                    struct cli_secret_file *file);
hf_status cli_secret_reread(char dst[CLI_SECRET_MAX], const char *path,
                            struct hf_error *err);
void cli_secret_hide_in_url(char *url);
void cli_secret_remove_from_url(char *url);

#endif
