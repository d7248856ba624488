/* The replies of scripts. Private to lock/.
 *
 *   {echo, count[, number[, note]]}      done: the owner's hold count; `note`: why the
 *                                        notification of waiters was not sent
 *   {echo, -1, TTL[, field, its value[, mode[, length of the field, of the
 *    value]]]}                           not done, because this owner does not hold the
 *                                        lock. TTL -1: another owner holds it, without
 *                                        a TTL; -2: it is free
 *   {echo, less than -1[, number]}       nothing is done; the script defines the reason
 *
 * The echo (call.h) is the owner, or a text of the request. The number of a grant is its
 * fencing token; the number of a release is how many clients received the notification, and
 * is absent if none was sent. The field is what prevents the grant: an owner's field, or one
 * that no lock has; `mode` is that field of a read-write lock. Further elements depend on the
 * script.
 *
 * Another program may have written texts of any length, so a script cuts each text
 * to HF_REPLY_TEXT_MAX bytes (tests/script_texts.sh checks this) and returns the true
 * lengths. A text that was cut is never an owner of this client. */
#ifndef HF_REPLY_H
#define HF_REPLY_H

#include "lock/lock.h"

struct hf_bytes {
    const char *ptr;
    size_t len;
};

#define ANSWER_NOT_HELD (-1)   /* this owner does not hold the lock */
#define TTL_NO_LOCK (-2)        /* the lock is free */
#define HF_REPLY_TEXT_MAX 191   /* bytes of a text, as in struct hf_lock_info */

struct hf_answer {
    int64_t count;              /* < 0: not done */
    int64_t number;             /* -1: absent */
    struct hf_bytes field;      /* "": absent; as the texts below */
    struct hf_bytes value;
    struct hf_bytes mode;
    size_t field_full_len;      /* on the server: > field.len if it was cut */
    size_t value_full_len;
    struct hf_bytes note;
};

/* hf_answer_read - parses a reply; false: it has another form. The texts are valid as long as
 *   the reply. */
bool hf_answer_read(struct hf_answer *out, struct hf_resp_value reply)
    HF_MUST_CHECK;

/* hf_reply_integer, hf_reply_bytes - read element `index`; an integer may be decimal text. */
bool hf_reply_integer(struct hf_resp_value reply, size_t index, int64_t *out);
bool hf_reply_bytes(struct hf_resp_value reply, size_t index,
                    struct hf_bytes *out);

/* hf_answer_is_cut - returns whether the field or its value is longer on the server. Then it
 * is not an owner or a hold count. */
static inline bool hf_answer_is_cut(const struct hf_answer *answer)
{
    return answer->field_full_len > answer->field.len ||
           answer->value_full_len > answer->value.len;
}

/* hf_answer_loss_reason - returns why an owner lost the lock, after the reply ANSWER_NOT_HELD. */
enum hf_lost hf_answer_loss_reason(const struct hf_answer *answer);

/* hf_text_integer - parses decimal text of up to 18 digits, strictly. */
bool hf_text_integer(struct hf_bytes text, int64_t *out);

#endif
