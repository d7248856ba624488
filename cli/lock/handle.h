/* A handle is a word by which a later process finds a hold again: what `acquire`
 * prints, and `renew` and `release` take. It is the owner, "uuid:number"; of a lock
 * that is not plain its kind stands before that, as in "fair:uuid:number". */
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

/* cli_handle_format - of what this owner holds, by a lock of this kind. Returns dst.
 * cli_handle_kind   - its kind as a word.
 * cli_handle_safe_at_end - a script counts from when this process ends: what is left
 *                     of a safe time then, less what it takes to print and to end.
 * cli_handle_check  - were NAME and HANDLE given (else NULL), and not empty?
 *                     CLI_CONTINUE, or CLI_EXIT_ERROR and reported.
 * cli_handle_extra_word - reports a word behind them; CLI_EXIT_ERROR.
 * cli_handle_open   - takes them, and opens that lock, connected, for calls that
 *                     block. CLI_CONTINUE, or CLI_EXIT_ERROR and reported; for
 *                     cli_handle_close in both cases.
 * cli_handle_fail   - as cli_fail_status; of one that is no handle says what is.
 * cli_handle_report - says that it was `done` ("released"), or that it was not, for
 *                     the owner does not hold it any more. `safe_ms`: from now on;
 *                     0: none is said. Returns the exit code. */
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
