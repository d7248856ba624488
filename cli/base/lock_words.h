/* The words and JSON members by which `status`, `ls` and `watch` describe a lock. */
#ifndef CLI_LOCK_WORDS_H
#define CLI_LOCK_WORDS_H

#include "cli/base/json.h"
#include "lock/label.h"

/* The state of the lock of one name. */
struct cli_lock {
    const char *name;           /* `name_len` bytes of any value */
    size_t name_len;
    struct hf_lock_info info;   /* or a counter, as cli_inspect_any_or_report says it: not locked,
                                   HF_KIND_PERMIT, its number as hold_count */
    char label[HF_LABEL_MAX + 1];       /* of the holder; "": none, or it was not read */
    const char *server_address; /* its address, if there are several; NULL: there is one */
    bool knows_available;
    int64_t available;          /* permits; may be negative */
    bool knows_listeners;
    int64_t listeners;          /* connections that are subscribed to its channel */
};

/* cli_kind_word - returns "plain", "fair", "read", ...: these words never change.
 * cli_lock_is_counter - returns whether it is a number: permits of a semaphore, a latch, or a
 *   number of another program, which cannot be distinguished.
 * cli_lock_word - returns the word of the kind, or CLI_COUNTER_WORD.
 * cli_lock_json - prints the state of the lock as a JSON object on a line. Returns
 *   CLI_CONTINUE, or CLI_EXIT_ERROR after reporting the error. */
#define CLI_COUNTER_WORD "counter"
const char *cli_kind_word(enum hf_lock_kind kind);
bool cli_lock_is_counter(const struct hf_lock_info *info);
const char *cli_lock_word(const struct hf_lock_info *info);
int cli_lock_json(const struct cli_lock *lock);

/* cli_places_text - writes a part of a sentence about a queue with waiters: "2 places are kept,
 *                 the first until 2026-11-25T14:31:07Z, 12.3 s from now (OWNER)".
 * cli_places_put - adds the member waiters; for a free lock whose first place has a known time
 *                 also kind, first_waiter and first_place_ms; and "unseen" for a part that
 *                 could not be read. */
#define CLI_PLACES_MAX 512
char *cli_places_text(char dst[CLI_PLACES_MAX], const struct hf_lock_info *info);
void cli_places_put(struct cli_json *j, const struct hf_lock_info *info);

/* cli_lock_put_name   - adds the name, which is the first member (cli_json_choose_escaping), to
 *                 another object.
 * cli_lock_put_holder - adds kind, owner and the other members of a held lock to it. */
void cli_lock_put_name(struct cli_json *j, const struct cli_lock *lock);
void cli_lock_put_holder(struct cli_json *j, const struct cli_lock *lock);

#endif
