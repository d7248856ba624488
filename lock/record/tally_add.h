/* Counts for the metrics of a client. Private to lock/. [locked]
 *
 * Counting never fails a call: if there is no memory for the counters of a kind, its grants and
 * holds are not counted until there is. */
#ifndef HF_TALLY_ADD_H
#define HF_TALLY_ADD_H

#include "lock/record/records.h"

/* hf_tally_call_ended - an acquire, or a call that failed, has ended: counts the grant or the
 *   failure. */
void hf_tally_call_ended(struct hf_op *op, hf_status status);

/* hf_tally_refused - a call ended with this error before it began. */
void hf_tally_refused(struct hf_client *client, hf_status status);

/* hf_tally_woken - a waiter sends its next request: wait.wake. */
void hf_tally_woken(struct hf_op *op);

/* hf_tally_enter_queue, hf_tally_leave_queue - the operation enters or leaves its queue. The latter
 *   does nothing if it is in none. */
void hf_tally_enter_queue(struct hf_op *op);
void hf_tally_leave_queue(struct hf_op *op);

/* hf_tally_hold_added, hf_tally_hold_removed - the client has one hold more, which was just
 *   granted, or one less. */
void hf_tally_hold_added(struct hf_hold *hold);
void hf_tally_hold_removed(struct hf_hold *hold);

/* hf_tally_last_release_begins - its last release is submitted: its duration is known.
 * hf_tally_lost - it is lost. */
void hf_tally_last_release_begins(struct hf_hold *hold);
void hf_tally_lost(struct hf_hold *hold);

/* hf_tally_fini - frees the counters. */
void hf_tally_fini(struct hf_client *client);

#endif
