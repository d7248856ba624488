/* The locks of a client by kind and name. A lock has one record while it is used. Private
 * to lock/. */
#ifndef HF_TABLE_H
#define HF_TABLE_H

#include "lock/record/records.h"

/* hf_table_init - creates an empty table. HF_E_NOMEM. */
hf_status hf_table_init(struct hf_client *client) HF_MUST_CHECK;

/* hf_table_fini - frees the table and all locks, also those with references. The table need
 *   not exist. */
void hf_table_fini(struct hf_client *client);

/* hf_lock_find_or_add - finds or creates a lock, with a reference for the caller. HF_E_NOMEM,
 *   HF_E_LIMIT (locks_max). */
hf_status hf_lock_find_or_add(struct hf_lock **out, struct hf_client *client,
                              const struct hf_kind *kind, const char *name,
                              size_t len) HF_MUST_CHECK;

/* hf_lock_ref, hf_lock_unref - add and remove a reference; the last one frees the lock. */
void hf_lock_ref(struct hf_lock *lock);
void hf_lock_unref(struct hf_lock *lock);

/* hf_lock_next_of_name - iterates over the locks of this name, including `lock`: returns the
 *   one after `after` (NULL: the first one), or NULL at the end. */
struct hf_lock *hf_lock_next_of_name(const struct hf_lock *lock,
                                     const struct hf_lock *after);

/* hf_lock_next_named - the same, with a name of which there may be no lock. */
struct hf_lock *hf_lock_next_named(struct hf_client *client, const char *name, size_t len,
                                   const struct hf_lock *after);

/* hf_lock_is_sharded - returns whether the waiters use SSUBSCRIBE. */
bool hf_lock_is_sharded(const struct hf_lock *lock);

#endif
