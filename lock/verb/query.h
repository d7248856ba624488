/* Interprets the replies of scripts about a lock. Private to lock/. */
#ifndef HF_QUERY_H
#define HF_QUERY_H

#include "lock/record/records.h"

/* hf_info_read - sets holder, hold_count and kind from the field of the lock's hash that
 *   `answer` names, for a request to a lock of `kind`. HF_KIND_NONE: no lock has such a
 *   field. */
void hf_info_read(struct hf_lock_info *info, const struct hf_kind *kind,
                  const struct hf_answer *answer);

/* hf_fail_not_a_lock - HF_E_SERVER: the hash is not a lock. */
hf_status hf_fail_not_a_lock(struct hf_error *err, const struct hf_lock *lock,
                             const struct hf_lock_info *info);

/* hf_fail_acquire_not_a_lock - the same for the reply to an acquire: it may be the head of the
 *   queue that is not an owner. */
hf_status hf_fail_acquire_not_a_lock(struct hf_error *err, const struct hf_lock *lock,
                                     const struct hf_lock_info *info);

/* hf_fail_held_by - HF_TIMEOUT: names the holder, and for how long it holds the lock. */
hf_status hf_fail_held_by(struct hf_error *err, const struct hf_lock *lock,
                          const struct hf_lock_info *info);

#endif
