/* The part of a hold that exists only while the hold is in use, so that a held lock takes
 * little memory. Private to lock/. [locked]
 *
 * IDLE-1  A hold is open while its `work` exists: from its first request until it has been idle
 *         for a second, and for each renewal, look, re-entry, and release. Only then may its
 *         `work` be used.
 * IDLE-2  A hold without a pending request is idle: its lease is packed (lease_pack.h), and
 *         its field is formatted when it is needed. A hold that cannot be packed stays open.
 * IDLE-3  Missing memory is not a loss: a renewal for which there is none is tried again, and
 *         a release uses memory of its call. */
#ifndef HF_HOLD_WORK_H
#define HF_HOLD_WORK_H

#include "lock/record/records.h"

/* hf_hold_take_work, hf_hold_return_work - take and return memory for `work`. NULL: no memory.
 * hf_hold_init_work - prepares it for a hold, except its text and its lease.
 * hf_hold_drop_work - frees the work of a hold that will be freed. */
struct hf_hold_work *hf_hold_take_work(struct hf_client *client) HF_MUST_CHECK;
void hf_hold_return_work(struct hf_client *client, struct hf_hold_work *work);
void hf_hold_init_work(struct hf_hold *hold, struct hf_hold_work *work);
void hf_hold_drop_work(struct hf_hold *hold);

/* hf_hold_ensure_work - allocates `work` if the hold is idle. False: no memory. */
bool hf_hold_ensure_work(struct hf_hold *hold) HF_MUST_CHECK;

/* hf_hold_use_work - as hf_hold_ensure_work, with memory of the operation that releases the hold.
 *   That memory outlives the hold. */
void hf_hold_use_work(struct hf_hold *hold, struct hf_hold_work *work);

/* hf_hold_shrink - frees `work` if the hold may be idle.
 * hf_hold_shrink_later - frees the `work` of an open hold in a second, if the hold is not used
 *   until then.
 * hf_hold_shrink_soon - frees the `work` of an open hold now if possible, otherwise in a
 *   second. */
void hf_hold_shrink(struct hf_hold *hold);
void hf_hold_shrink_later(struct hf_hold *hold);
void hf_hold_shrink_soon(struct hf_hold *hold);

/* hf_hold_lease - returns the lease, to read. If the hold is idle, that is *copy. */
const struct hf_lease *hf_hold_lease(const struct hf_hold *hold, struct hf_lease *copy);

/* hf_hold_edit_lease, hf_hold_store_lease - return its lease for an event that submits no command,
 *   and store it and set the timer after that event. */
struct hf_lease *hf_hold_edit_lease(struct hf_hold *hold, struct hf_lease *copy);
void hf_hold_store_lease(struct hf_hold *hold, const struct hf_lease *lease);

/* hf_hold_put_field - writes the field of the hold, with a NUL, and returns its length. */
size_t hf_hold_put_field(const struct hf_hold *hold, char dst[HF_OWNER_TEXT_MAX]);

/* hf_hold_renew_early - hf_lease_renew_early for a hold that may be idle. */
void hf_hold_renew_early(struct hf_hold *hold, int64_t at_ms);

/* hf_hold_look_early - hf_lease_look_early for a hold that may be idle. */
void hf_hold_look_early(struct hf_hold *hold, int64_t at_ms);

/* hf_hold_rearm_timer - sets the timer after a change of the lease. */
void hf_hold_rearm_timer(struct hf_hold *hold);

#endif
