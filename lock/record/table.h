/* Locks by kind and name: one record for each in a client, as long as anyone
 * uses it. Private to lock/. */
#ifndef HF_TABLE_H
#define HF_TABLE_H

#include "lock/record/records.h"

/* hf_table_init       - no locks. HF_E_NOMEM.
 * hf_table_fini       - frees all locks, also those with references; takes one
 *                       that was not made.
 * hf_lock_find_or_add - with a reference for the caller. HF_E_NOMEM, HF_E_LIMIT
 *                       (locks_max).
 * hf_lock_ref, hf_lock_unref - one user more, or less; the last one frees it.
 */
hf_status hf_table_init(struct hf_client *client) HF_MUST_CHECK;
void hf_table_fini(struct hf_client *client);
hf_status hf_lock_find_or_add(struct hf_lock **out, struct hf_client *client,
                              const struct hf_kind *kind, const char *name,
                              size_t len) HF_MUST_CHECK;
void hf_lock_ref(struct hf_lock *lock);
void hf_lock_unref(struct hf_lock *lock);

/* hf_lock_next_of_name - the locks of its name, itself included: the first one
 *   behind `after`; NULL: the first of all. NULL: there is none. */
struct hf_lock *hf_lock_next_of_name(const struct hf_lock *lock,
                                     const struct hf_lock *after);

/* hf_lock_is_sharded - do the waiters listen by SSUBSCRIBE? */
bool hf_lock_is_sharded(const struct hf_lock *lock);

#endif
