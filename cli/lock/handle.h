/* A handle is a word that identifies a hold for a later process: `acquire` prints it, and `renew`
 * and `release` take it. It is the owner, "uuid:number"; if the lock is not a plain lock, the
 * kind precedes it, as in "fair:uuid:number". The id of a permit, as Redisson prints it, is also
 * one. */
#ifndef CLI_HANDLE_H
#define CLI_HANDLE_H

#include "cli/base/common.h"

#define CLI_HANDLE_MAX (HF_OWNER_TEXT_MAX + 16)

/* The shortest lease of a hold that no process renews. */
#define CLI_LEASE_LEAST_MS 100

struct cli_handle {
    const char *name;           /* of the lock */
    const char *text;
    const char *owner;          /* the end of text */
    enum hf_lock_kind kind;
    struct hf_client *client;
    struct hf_lock *lock;
};

/* cli_handle_format - writes the handle of this owner's hold on a lock of this kind. Returns
 *                     dst.
 * cli_handle_kind   - returns its kind as a word.
 * cli_handle_safe_at_end - returns the safe time that remains when this process ends, which is
 *                     where a script begins to count: it subtracts the time to print and end.
 * cli_handle_check  - checks that NAME and HANDLE are given (not NULL) and not empty. Returns
 *                     CLI_CONTINUE, or CLI_EXIT_ERROR after reporting the error.
 * cli_handle_extra_word - reports a word after them. Returns CLI_EXIT_ERROR.
 * cli_handle_open   - opens the lock of NAME and HANDLE, connected, for calls that block.
 *                     Returns CLI_CONTINUE, or CLI_EXIT_ERROR after reporting the error. Call
 *                     cli_handle_close in both cases.
 * cli_handle_fail   - does as cli_fail_status; if the text is not a handle, explains the form.
 * cli_handle_report - reports that it was `done` ("released"), or that the owner no longer holds
 *                     the lock. `safe_ms`: from now on; 0: not printed. Returns the exit
 *                     code. */
char *cli_handle_format(char dst[CLI_HANDLE_MAX], enum hf_lock_kind kind,
                        const char *owner);
const char *cli_handle_kind(enum hf_lock_kind kind);
int64_t cli_handle_safe_at_end(int64_t safe_ms);
int cli_handle_check(const struct cli_args *args, const char *name,
                     const char *text);
int cli_handle_extra_word(const struct cli_args *args, const char *word);
int cli_handle_open(struct cli_handle *handle, const struct cli_common *common,
                    const char *name, const char *text);
void cli_handle_close(struct cli_handle *handle);
int cli_handle_fail(const struct cli_handle *handle, hf_status status,
                    const struct hf_error *err);
int cli_handle_report(const struct cli_handle *handle,
                      const struct cli_common *common, const char *done,
                      bool is_done, int64_t safe_ms);

#endif
