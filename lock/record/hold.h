/* Our record of what we hold. Private to lock/. */
#ifndef HF_HOLD_H
#define HF_HOLD_H

#include "lock/record/records.h"

/* hf_hold_new    - for the first acquire that `op` asks: its field and its key,
 *                  no lease yet. NULL: no memory. (by_owner.c writes another
 *                  owner's over them.)
 * hf_hold_free   - forgets it; takes it out of whatever it is in, but for
 *                  client->holds. Its memory lasts until its batch ends. Takes
 *                  NULL.
 * hf_hold_finish_question - ends an operation whose hold was made for its question
 *                  alone, and frees that; NULL: there was none.
 * hf_hold_settle - its multi-lock has all members: it is open no more.
 * hf_hold_silence - the holds of `whose` call nobody any more: what they would
 *                  call is freed next.
 * hf_hold_rearm  - its lease has changed: its timer fires when that is due.
 * hf_hold_tell_lost    - it is lost: no renewal follows, and on_lost is posted,
 *                  or the loss is logged.
 * hf_hold_tell_renewed - on_renewed is posted, if there is one. */
struct hf_hold *hf_hold_new(struct hf_op *op) HF_MUST_CHECK;
void hf_hold_free(struct hf_hold *hold);
void hf_hold_finish_question(struct hf_op *op, hf_status status);
void hf_hold_settle(struct hf_hold *hold);
void hf_hold_silence(struct hf_lock *lock,
                     bool (*is_whose)(const struct hf_hold *, const void *whose),
                     const void *whose);
void hf_hold_rearm(struct hf_hold *hold);
void hf_hold_tell_lost(struct hf_hold *hold);
void hf_hold_tell_renewed(struct hf_hold *hold);

/* hf_hold_enter - is `op` the one that may act on the hold now? If not, it is
 *                 started again when the others have left.
 * hf_hold_leave - the next one. May free the hold if nothing is left of it.
 * hf_hold_drop  - its memory, once no renewal points at it. */
bool hf_hold_enter(struct hf_hold *hold, struct hf_op *op);
void hf_hold_leave(struct hf_hold *hold, bool is_gone);
void hf_hold_drop(struct hf_hold *hold);

/* hf_hold_stop_renewal - no renewal of it will be sent, the answer to one that
 * was sent is ignored, and none is told. */
void hf_hold_stop_renewal(struct hf_hold *hold);

#endif
