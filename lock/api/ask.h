/* A public call is an operation that is waited for, or not. Private to lock/. */
#ifndef HF_ASK_H
#define HF_ASK_H

#include "lock/record/records.h"

/* What is asked; what a verb does not look at is 0. */
struct hf_ask {
    const struct hf_verb *verb;
    bool must_begin;            /* both as hf_op's */
    bool is_member;
    int64_t owner;
    int64_t permits;
    const struct hf_acquire_options *options;
    struct hf_lock_info *info;
    int64_t *value;             /* NULL, or where a number goes */
    bool *is_yes;               /* NULL, or where it goes whether it was done */
    const char *holder;         /* NULL: nobody */
    size_t holder_len;
    int64_t *count;             /* NULL, or where the holder's count goes */
};

/* Memory for a call without blocking. */
struct hf_ask_room {
    struct hf_op op;
    struct hf_error error;
};

/* hf_ask_to_wait    - for something without owners; it points at `options`.
 * hf_ask_check_wait - HF_E_INVAL: no wait is so long. */
struct hf_ask hf_ask_to_wait(struct hf_acquire_options *options,
                             int64_t permits, int64_t wait_ms,
                             struct hf_cancel *cancel);
hf_status hf_ask_check_wait(int64_t wait_ms, struct hf_error *err);

/* hf_ask_handle - a reference to what has this name and kind: hf_lock_new.
 * hf_ask_run    - waits until it is done; returns how it ended.
 * hf_ask_post   - returns at once; `done` is told, unless this fails.
 * hf_ask_post_in - likewise, in the caller's memory, which is its own again when
 *                 `done` is called. It has no holder.
 * hf_ask_forked - HF_E_FORKED, and the error filled. */
hf_status hf_ask_handle(struct hf_lock **out, struct hf_client *client,
                        const struct hf_kind *kind, const void *name,
                        size_t len, struct hf_error *err) HF_MUST_CHECK;
hf_status hf_ask_run(struct hf_lock *lock, const struct hf_ask *ask,
                     struct hf_error *err);
hf_status hf_ask_post(struct hf_lock *lock, const struct hf_ask *ask,
                      hf_done *done, void *ctx);
hf_status hf_ask_post_in(struct hf_ask_room *room, struct hf_lock *lock,
                         const struct hf_ask *ask, hf_done *done, void *ctx);
hf_status hf_ask_forked(struct hf_error *err);

#endif
