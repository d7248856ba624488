/* What a script answers. Private to lock/.
 *
 *   {echo, count[, number[, note]]}      done: the owner's hold count now; and why
 *                                        the message that wakes waiters was not sent
 *   {echo, -1, TTL[, field, its value[, mode[, length of the field, of the
 *    value]]]}                           not done, for this owner does not hold
 *                                        the lock. TTL -1: another does,
 *                                        without a TTL; -2: nobody does
 *   {echo, less than -1[, number]}       nothing is done: the script says why
 *
 * The echo (call.h) is the owner, or a question's own text. The number of a
 * grant is its fencing token; that of what was given up, how many clients heard
 * the message that wakes waiters: without one, no message was sent. A field is
 * what keeps the lock from us: an owner's, or one that no lock has; `mode` is
 * that field of a read-write lock. A script may say more behind, for its own
 * reader.
 *
 * Another program may have written texts of any length, so a script cuts each text
 * to HF_REPLY_TEXT_MAX bytes (tests/script_texts.sh checks this) and returns the true
 * lengths. A text that was cut is never an owner of ours. */
#ifndef HF_REPLY_H
#define HF_REPLY_H

#include "lock/lock.h"

struct hf_bytes {
    const char *ptr;
    size_t len;
};

#define ANSWER_NOT_HELD (-1)
#define TTL_NO_LOCK (-2)        /* nobody holds it */
#define HF_REPLY_TEXT_MAX 191   /* bytes of a text, as in struct hf_lock_info */

struct hf_answer {
    int64_t count;              /* < 0: it is not done */
    int64_t number;             /* -1: there is none */
    struct hf_bytes field;      /* "": it names none */
    struct hf_bytes value;
    struct hf_bytes mode;       /* "": there is none */
    size_t field_len;           /* on the server: > field.len if it was cut */
    size_t value_len;           /* likewise */
    struct hf_bytes note;       /* "": there is none */
};

/* hf_answer_read - false: the reply has another shape. The texts live as long
 *                  as the reply.
 * hf_reply_integer, hf_reply_bytes - its element `index`; an integer may be
 *                  decimal text. */
bool hf_answer_read(struct hf_answer *out, struct hf_resp_value reply)
    HF_MUST_CHECK;
bool hf_reply_integer(struct hf_resp_value reply, size_t index, int64_t *out);
bool hf_reply_bytes(struct hf_resp_value reply, size_t index,
                    struct hf_bytes *out);

/* hf_answer_is_cut - is the field or its value longer on the server? Neither is then
 * an owner's, or a hold count. */
static inline bool hf_answer_is_cut(const struct hf_answer *answer)
{
    return answer->field_len > answer->field.len ||
           answer->value_len > answer->value.len;
}

/* hf_answer_lost - an owner that believed to hold the lock is answered
 * ANSWER_NOT_HELD: why it has lost it. */
enum hf_lost hf_answer_lost(const struct hf_answer *answer);

/* hf_text_integer - decimal text, as a hash's field holds it. Strict, within 18
 * digits. */
bool hf_text_integer(struct hf_bytes text, int64_t *out);

#endif
