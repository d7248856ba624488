/* Tracked holds and waiters: the server reports at once that a lock's key was changed, so that
 * a loss is detected without waiting for the next renewal, and a waiter is woken whatever freed
 * the lock. Private to lock/. [locked]
 *
 *   granted --1 s--> renewal or look, tracked --> each renewal, tracked
 *                                |
 *      push `invalidate` --------+--> renewal or look: its reply decides
 *
 * TRACK-1  Holds that last are tracked: the first tracked request is sent at the end of the
 *          first second, and each renewal is one. A hold that is released before costs
 *          nothing. After an own write (re-entry, partial release), which ends the
 *          tracking, the second begins anew.
 * TRACK-2  A push is not a verdict. It makes a renewal due, or a look (lease.h) if the
 *          watchdog does not renew the hold. The reply decides, and tracks the key again.
 * TRACK-3  Pushes for a hold are merged: while a check is due or waits to be sent, further
 *          pushes add nothing; and CHECK_PAUSE_MS passes between two checks of one hold. So
 *          pushes cause at most ten requests a second for each hold.
 * TRACK-4  If any key of a server may have changed (FLUSHALL, a new connection), all its
 *          holds are checked, in portions (SWITCH-2).
 * TRACK-5  If several owners write one key (read locks, permits), each of their writes causes a
 *          push to all others. Therefore such a hold is checked by a look, which writes
 *          nothing, also if the watchdog renews it; and while pushes follow each other, the
 *          pause between two checks doubles, up to SHARED_PAUSE_MAX_MS.
 * TRACK-6  The server does not report the client's own writes, and they end the tracking of the
 *          key. After a release, one of the client's other holds on the key is looked at a
 *          second later. After a forced release, the client's own holds are checked at once.
 * TRACK-7  A request that follows ASK is not tracked, because ASKING and CLIENT CACHING are both
 *          valid for the next command only. Another one is sent a second later.
 * TRACK-8  The acquires of a waiter are tracked from when its subscription was confirmed or
 *          refused, because a sleep follows if they are refused. (The first acquire of a free
 *          lock is not, and costs nothing.) A push is not a verdict here either: the first
 *          waiter of the queue sends its acquire again, and if it is refused, it is tracked
 *          again. PUSHED-1 to PUSHED-5 (channel.h) limit these requests. If any key may have
 *          changed (TRACK-4), the first waiter of each queue is woken. Waiters also make a lost
 *          connection again (TRACKING-4), also the one of TRACKING-5. */
#ifndef HF_TRACK_H
#define HF_TRACK_H

#include "lock/record/records.h"

/* hf_track_granted - the hold was acquired, or an own write changed its key: TRACK-1.
 *   hf_hold_rearm_timer must follow. */
void hf_track_granted(struct hf_hold *hold);

/* hf_track_after_release        - a release of this lock has ended: TRACK-6.
 * hf_track_after_forced_release - the same after a forced release. */
void hf_track_after_release(const struct hf_lock *lock);
void hf_track_after_forced_release(const struct hf_lock *lock);

/* hf_track_on_invalidated - processes a push (hf_router_options.on_invalidated). */
void hf_track_on_invalidated(void *client, const struct hf_server *server, const char *key,
                             size_t len);

/* hf_track_tracks_kind - returns whether holds of this kind are tracked. */
bool hf_track_tracks_kind(const struct hf_kind *kind);

#endif
