/* What witness.c (holds) and witness_queue.c (queues) share. Private to these two. */
#ifndef SIM_WITNESS_INNER_H
#define SIM_WITNESS_INNER_H

#include "tests/sim/witness.h"

/* witness_owner      - who a field of a hash, or an element of a queue, belongs
 *                      to; the text is in `out`.
 * witness_queue_look - writes what a change has made of a lock's queue, if it
 *                      is of that.
 * witness_queue_promoted - the server is a master now: who is the first in each
 *                      queue. */
struct history_text witness_owner(const char *field,
                                  char out[WITNESS_HOLD_MAX]);
void witness_queue_look(struct witness *w, struct model *m, size_t lock,
                        const struct model_change *c, enum history_by by);
void witness_queue_promoted(struct witness *w, struct model *m);

/* What witness.c does with any hold, for witness_permit.c:
 * witness_begin - none of the lock's holds is seen yet.
 * witness_mark  - the hold of this field is there, if it was there before.
 * witness_free_rest - "freed" lines of those that were not.
 * witness_see   - "held", if it is news, or `by` says so.
 * witness_number - decimal digits. */
void witness_begin(struct witness *w, size_t lock);
void witness_mark(struct witness *w, size_t lock, struct model_text field);
void witness_free_rest(struct witness *w, size_t lock, enum history_why why);
void witness_see(struct witness *w, size_t lock, struct model_text field,
                 int64_t until_us, enum history_by by);
int64_t witness_number(struct model_text digits);

/* witness_permit_asked - a script names an owner, whose permits have numbers.
 * witness_permit_look  - writes what a change has made of a semaphore, if it is of
 *                        one of its keys.
 * witness_permit_lapsed - have all lapsed that stand in this key? */
void witness_permit_asked(struct witness *w, const struct model_script *s);
void witness_permit_look(struct witness *w, struct model *m, size_t lock,
                         const struct model_change *c, enum history_by by,
                         enum history_why why);

/* witness_available - what such a key says; NONE: there is none.
 * witness_stock - a "stock" line, if it is news; hold: the question, or "".
 * witness_stock_repeat - of a server that has become a replica.
 * witness_count_asked - a script names a question.
 * witness_is_answer   - is what a question was answered kept in such a key?
 * witness_count_look  - as witness_permit_look, of a semaphore or latch. */
int64_t witness_available(struct model *m, const char *name);
void witness_stock(struct witness *w, size_t lock, int64_t stock,
                   enum history_by by, const char *hold);
void witness_stock_repeat(struct witness *w, size_t lock);
void witness_count_asked(struct witness *w, const struct model_script *s);
bool witness_is_answer(const char *key, size_t len);
void witness_count_look(struct witness *w, struct model *m, size_t lock,
                        const struct model_change *c, enum history_by by);
bool witness_permit_lapsed(const struct witness *w, struct model *m,
                           const struct model_key *key);

#endif
