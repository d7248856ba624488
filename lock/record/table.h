/* The locks of a client by kind and name. A lock has one record while it is used. Private
 * to lock/. */
#ifndef HF_TABLE_H
#define HF_TABLE_H

#include "lock/record/records.h"

/* hf_lock_table_init - creates an empty table. HF_E_NOMEM. */
hf_status hf_lock_table_init(struct hf_client *client) HF_MUST_CHECK;

/* hf_lock_table_fini - frees the table and all locks, also those with references. The table need
 *   not exist. */
void hf_lock_table_fini(struct hf_client *client);

/* hf_lock_find_or_add - finds or creates a lock, with a reference for the caller. HF_E_NOMEM,
 *   HF_E_LIMIT (locks_max). */
hf_status hf_lock_find_or_add(struct hf_lock **out, struct hf_client *client,
                              const struct hf_kind *kind, const char *name,
                              size_t len) HF_MUST_CHECK;

/* hf_lock_next - iterates over all locks: returns the one after `after` (NULL: the first one), or
 *   NULL at the end. Meanwhile no lock may be added; `after` must not have been freed. */
struct hf_lock *hf_lock_next(const struct hf_client *client, const struct hf_lock *after);

/* hf_lock_channel - returns the channel of the lock, without the owner of a waiter's own channel.
 *   Its bytes are those of the lock, or in `room`. */
struct hf_bytes hf_lock_channel(const struct hf_lock *lock, char room[CHANNEL_SHORT_MAX]);

/* hf_lock_keys - returns the texts of kind->key_names, one after the other: those of the lock, or
 *   in `room`. If renewals have such a key, they are those of the lock, and `room` may be NULL. */
const char *hf_lock_keys(const struct hf_lock *lock, char room[KEYS_SHORT_MAX]);

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

/* hf_lock_shares_channel - returns whether two locks of one name have the same channel. */
bool hf_lock_shares_channel(const struct hf_lock *a, const struct hf_lock *b);

/* hf_lock_queue - returns lock->wait_queue, and creates it if there is none. NULL: no memory. It is
 *   the queue of all locks of this name with the same channel. A queue without users is freed
 *   a second later (shrink.h). */
struct hf_wait_queue *hf_lock_queue(struct hf_lock *lock) HF_MUST_CHECK;

/* hf_lock_new_queue - creates a queue that is not lock->wait_queue, with the name of the lock's
 *   channel and room for `more` bytes after it. NULL: no memory. */
struct hf_wait_queue *hf_lock_new_queue(struct hf_lock *lock, size_t more) HF_MUST_CHECK;

/* hf_lock_free_queue - frees a queue that no lock uses. */
void hf_lock_free_queue(struct hf_client *client, struct hf_wait_queue *line);

/* hf_lock_is_sharded - returns whether the waiters use SSUBSCRIBE. */
bool hf_lock_is_sharded(const struct hf_lock *lock);

#endif
