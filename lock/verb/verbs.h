/* The operations. Private to lock/. */
#ifndef HF_VERBS_H
#define HF_VERBS_H

#include "lock/record/records.h"

extern const struct hf_verb hf_verb_acquire, hf_verb_release, hf_verb_force_release,
    hf_verb_inspect, hf_verb_drop_places, hf_verb_extend;

/* hf_acquire_options_read - copies the options of the program; NULL: the defaults. HF_E_INVAL:
 *   they were not initialised, or a later version has a member that is set. lock.c */
hf_status hf_acquire_options_read(struct hf_acquire_options *to,
                                  const struct hf_acquire_options *from,
                                  struct hf_error *err) HF_MUST_CHECK;

/* hf_acquire_options_check - returns HF_E_INVAL for invalid options. */
hf_status hf_acquire_options_check(const struct hf_acquire_options *options,
                                   struct hf_error *err);

/* hf_acquire_options_check_async - the same for an acquire that does not block. lock.c */
hf_status hf_acquire_options_check_async(
    const struct hf_acquire_options *options);

/* Raises the token counter of a held lock to `permits`. HF_NOT_OWNER: the lock is not held.
 * token.c */
extern const struct hf_verb hf_verb_raise_token;

/* Operations of kinds without owners. hf_verb_add adds permits, or one count of a latch;
 * hf_verb_add_existing adds permits to a semaphore that exists; hf_verb_reduce removes permits
 * (0: all that are available, and `value` receives their number); hf_verb_resize sets the number
 * of expirable permits. */
extern const struct hf_verb hf_verb_add, hf_verb_add_existing, hf_verb_reduce, hf_verb_set,
    hf_verb_resize, hf_verb_delete, hf_verb_read;

#endif
