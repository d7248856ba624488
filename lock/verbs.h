/* What operations there are. Private to lock/. */
#ifndef HF_VERBS_H
#define HF_VERBS_H

#include "lock/records.h"

extern const struct hf_verb hf_verb_acquire, hf_verb_release, hf_verb_force,
    hf_verb_inspect;

/* hf_acquire_options_check - what no acquire takes: HF_E_INVAL. lock.c */
hf_status hf_acquire_options_check(const struct hf_acquire_options *options,
                                   struct hf_error *err);

/* hf_member_acquire, hf_member_acquire_async - for a multi-lock, as
 * hf_lock_acquire and hf_lock_acquire_async: a new hold is not kept until
 * hf_hold_settle. lock.c */
hf_status hf_member_acquire(struct hf_lock *lock,
                            const struct hf_acquire_options *options,
                            struct hf_error *err) HF_MUST_CHECK;
hf_status hf_member_acquire_async(struct hf_lock *lock,
                                  const struct hf_acquire_options *options,
                                  hf_done *done, void *ctx) HF_MUST_CHECK;

/* Of kinds without owners. Add: permits, or a step of a latch. */
extern const struct hf_verb hf_verb_add, hf_verb_set, hf_verb_read;

#endif
