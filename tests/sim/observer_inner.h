/* What observer.c (holds) and observer_queue.c (queues) share. Private to these two. */
#ifndef SIM_OBSERVER_INNER_H
#define SIM_OBSERVER_INNER_H

#include "tests/sim/observer.h"

/* observer_owner      - who a field of a hash, or an element of a queue, belongs
 *                      to; the text is in `out`.
 * observer_queue_look - writes what a change has made of a lock's queue, if it
 *                      is of that.
 * observer_queue_promoted - the server is a master now: who is the first in each
 *                      queue. */
struct history_text observer_owner(const char *field,
                                   char out[OBSERVER_HOLD_MAX]);
void observer_queue_look(struct observer *w, struct model *m, size_t lock,
                         const struct model_change *c, enum history_by by);
void observer_queue_promoted(struct observer *w, struct model *m);

/* What observer.c does with any hold, for observer_permit.c:
 * observer_begin - none of the lock's holds is seen yet.
 * observer_mark  - the hold of this field is there, if it was there before.
 * observer_free_rest - "freed" lines of those that were not.
 * observer_see   - "held", if it is news, or `by` says so.
 * observer_number - decimal digits. */
void observer_begin(struct observer *w, size_t lock);
void observer_mark(struct observer *w, size_t lock, struct model_text field);
void observer_free_rest(struct observer *w, size_t lock, enum history_why why);
void observer_see(struct observer *w, size_t lock, struct model_text field,
                  int64_t until_us, enum history_by by);
int64_t observer_number(struct model_text digits);

/* observer_permit_asked - a script names an owner, whose permits have numbers.
 * observer_permit_look  - writes what a change has made of a semaphore, if it is of
 *                        one of its keys.
 * observer_permit_lapsed - have all permits of this key expired? */
void observer_permit_asked(struct observer *w, const struct model_script *s);
void observer_permit_look(struct observer *w, struct model *m, size_t lock,
                          const struct model_change *c, enum history_by by,
                          enum history_why why);

/* observer_available - what such a key says; NONE: there is none.
 * observer_stock - a "stock" line, if it has changed; hold: the request, or "".
 * observer_stock_repeat - of a server that has become a replica.
 * observer_count_asked - a script names a request.
 * observer_is_answer   - does a key with this name have the recorded reply to a request?
 * observer_count_look  - as observer_permit_look, of a semaphore or latch. */
int64_t observer_available(struct model *m, const char *name);
void observer_stock(struct observer *w, size_t lock, int64_t stock,
                    enum history_by by, const char *hold);
void observer_stock_repeat(struct observer *w, size_t lock);
void observer_count_asked(struct observer *w, const struct model_script *s);
bool observer_is_answer(const char *key, size_t len);
void observer_count_look(struct observer *w, struct model *m, size_t lock,
                         const struct model_change *c, enum history_by by);
bool observer_permit_lapsed(const struct observer *w, struct model *m,
                            const struct model_key *key);

#endif
