/* P12: nothing fails, and nothing is lost, without a line that explains it. Private
 * to the judge.
 *
 * A fault touches a call, or a hold, as for P5: a `fault`, `down`, `up` or `master`
 * line that names its client, its lock, the server of its lock, or all; while any
 * server is down; also while its client is suspended. A member of a quorum (name@sN) is touched
 * by the faults of its own server only, and of those that may have taken over from it. A fault
 * explains failures while it lasts and until cause_ms after it. "No fault" below means: none since
 * the call began, or since the hold's last command was executed, or cause_ms before that. Where the
 * history has neither cause_ms nor wake_ms, no rule that has this excuse is judged. Permits,
 * semaphores and latches are judged where cause_ms is given.
 *
 * P12a  A call that ends with a failure has a cause:
 *       HF_TIMEOUT   wait_ms has passed, by the client's clock (ppm). No fault is an
 *                    excuse. (A call that waits for ever never ends so; judged where
 *                    cause_ms is given.) And something kept the call from the lock at some
 *                    moment since it began, at one server that may have answered it
 *                    (state_answers): a hold of another owner; the queue; no permit left;
 *                    the latch closed. Or an earlier call of its owner; a call of its
 *                    client that began to wait before it. Of a wait up to answer_ms
 *                    also a call of its client that was under way when it began, and
 *                    that something had kept from the lock: the client may have heard
 *                    of that by the answer to the earlier call, and of nothing later. Of
 *                    a call with wait_ms 0, that is the only excuse. An earlier
 *                    grant to the same owner that the client does not know of
 *                    counts as another hold, and so does one that was reported lost.
 *       HF_CANCELLED a `cancel` line of the call.
 *       HF_LOST      of an acquire: a loss was reported to its owner. Of a release, or an
 *                    extension:
 *                    the same, or the hold was deleted or expired, or a fault.
 *       HF_NOT_OWNER of a release, or an extension: the owner has nothing left to release. Of a
 *                    forced release: at some moment one server that may have answered
 *                    did not have the lock, or not the hold that the call names. Of a
 *                    renewal (op=renew): the same, of the hold that it names.
 *       HF_E_INVAL   of an acquire: its owner has another hold of that lock, or
 *                    another call on it. Of a renewal: its lease is 0. Of an extension
 *                    (op=extend): its client renews the hold, or another call of its owner
 *                    is under way.
 *       HF_IN_USE    of a deletion: at some moment since it was asked, a server that may
 *                    have answered had an expirable permit in use; or a fault.
 *       HF_E_CLOSED, HF_E_LIMIT   a close or the end of the client; or a fault.
 *       all others   a fault; a wait_ms up to answer_ms, or a lease up to twice that.
 *                    The wait_ms that counts is what remains when the last earlier call
 *                    of its owner, or acquire of its client, has ended: the client sends
 *                    these one after the other.
 *                    HF_E_SERVER of a forced release or a renewal: another kind of
 *                    lock, or several holders, at one server. HF_UNREPLICATED is not judged.
 *       The call of a set (history.h: of) fails as its members do: the cause is one of
 *       its parts'. A fault touches it if it touches one of these. HF_TIMEOUT: its wait
 *       has passed, and one of its parts was kept from the lock, or touched by a fault
 *       (not with a wait of 0; but of a quorum with a lease up to twice answer_ms, one member
 *       that was kept from it is enough). HF_CANCELLED: a `cancel` line of the call. HF_LOST: a
 *       member was lost, taken by another owner or expired, or the max_hold of the quorum has
 *       passed. Of a quorum, such causes at some members are a cause only if the other
 *       members are no majority; causes of different kinds at different members count
 *       together. HF_E_INVAL: another call of its owner on the set, or a hold that it cannot
 *       enter again. Others: also a max_hold that has
 *       passed since the call began; a client that ends. A part that ends before the
 *       call is not judged by itself, and neither are those that end well; a part that
 *       nobody waits for any more has a `cancel` line of its own.
 * P12b  A hold that is reported lost has a cause: a server that may have answered does
 *       not have it; another owner has the lock; a fault within answer_ms and cause_ms
 *       before; a call on the hold whose outcome is unknown; max_hold has passed; its belief
 *       ends, if it was acquired with a lease (or within a tenth of what was granted, if no call
 *       says its lease); one of its leases is up to twice answer_ms; the client ends. The hold of a
 *       quorum: its owner has lost so many members, or does not have them, or a fault touched them,
 *       that the others are no majority; a member that was granted after the quorum does not
 *       count if another one was lost that was confirmed before (docs/quorum.md). Of a
 *       member, where the line names the set: another hold of that owner is lost at this moment, or
 *       the max_hold of the set has passed.
 * P12c  A hold that was acquired with lease=0 is renewed before half of its lease, and
 *       answer_ms, have passed. Excused: a fault within answer_ms and cause_ms before; a
 *       release that has begun; a longer lease of the same key, while the client believes
 *       in the hold. P12c and P12d, of a quorum: also so many members that its owner does not
 *       have, or that a fault touched, that the others are no majority.
 * P12d  answer_ms after a grant or a renewal the owner's belief covers `belief` percent
 *       of what was granted (at most the shortest of its leases), less answer_ms.
 *       Excused: a fault, a call of the owner that is under way, a release. Not judged:
 *       read-write locks that are held more than once; holds that were acquired with a lease
 *       of their own and without one, also if nobody knows whether the call with the lease was
 *       executed, or if a fault touched it, so that it may have been sent twice: a lost
 *       connection may still bring it; a renewal that a call of another client may have
 *       brought about (op=renew).
 * P12e  A hold is not believed in beyond its max_hold and answer_ms, and by then the
 *       server has freed it. Excused: a fault; a client that ends within answer_ms
 *       after the loss. A set, and its members, may be left to expire.
 * P12f  A release or forced release that returns OK has freed something: after the
 *       last release the server does not have the hold; after one of several it
 *       counts no more than are left (one of the servers that may have answered);
 *       a forced release has freed a hold since it began (if it names a hold, also by
 *       the release that the hold's owner would send). And what is freed by force was
 *       requested by a forced release, if the history has such calls; not judged of a
 *       server that has been replaced, which may execute it late. Excused: a failover
 *       since; another acquire of that owner under way. A renewal (op=renew, op=extend) that
 *       returns OK names a hold that a server, which may have answered, had at some
 *       moment since it began, with an end no earlier than its lease after that (ppm).
 * P12g  An inspection reports what one server, which may have answered, had at some
 *       moment since it began:
 *       that holder with that count, and its end (later by no more than the call
 *       has taken, and slack_ms; not of read-write locks); or a free lock; how many
 *       permits are out, or available; the latch's count; whether there is a semaphore.
 * P12h  A call that waits is not passed over: fewer than `passed` calls that
 *       began later are granted before it. Not judged: calls behind another one of
 *       their client; readers, and what is granted to readers; calls touched by a
 *       fault; fair locks (P5b).
 * P12i  A waiter looks when the TTL ends: after a hold has expired the lock is
 *       free for no longer than wake_ms and answer_ms (P5: look_ms), unless the end of
 *       the hold came earlier than an earlier line said. Not judged: fair locks, which
 *       tell only the first waiter of a grant. It is reported as P5.
 * P12j  A member that the owner of a quorum does not have is requested again while the quorum
 *       is held and renewed: it is not free for longer than the lease of the other members
 *       and answer_ms. Excused: a fault at that member. */
#ifndef CHECK_CAUSE_H
#define CHECK_CAUSE_H

#include "tests/judge/state.h"

/* cause_is_judged - is the bound given that its excuses need?
 * cause_begin   - the call begins.
 * cause_look    - the state of the call's lock may have changed.
 * cause_looks   - likewise, of each call of the lock.
 * cause_cancel  - a `cancel` line.
 * cause_end     - the call ends, before the state changes.
 * cause_dropped - the call ends, and nobody knows whether it will be executed.
 * cause_ended_well - after an acquire that ended well has changed it.
 * cause_released - after a release that ended well has changed it.
 * cause_lost    - the hold is reported lost, before the state changes.
 * cause_believes - a `safe` line has been taken in.
 * cause_granted - a held line, by a command of the owner, is about to be taken in.
 * cause_passed  - the server has granted the lock anew.
 * cause_freed   - a freed line is about to be taken in.
 * cause_rest    - all is quiet: the hold has stopped changing.
 * cause_is_renewed_by_name - may a renewal that names the hold (op=renew) have been
 *                 executed now?
 * cause_has_call - is a call of the hold's owner under way?
 * cause_is_named_lease - is the end in the line that of such a renewal that is under way?
 * cause_is_by_forgetting - of the hold of a quorum: do members that were taken away from its
 *                 owner make the difference between a majority and less?
 * cause_has_shortened - has the end of a hold of that lock been made to come earlier
 *                 within the last look_ms? */
bool cause_is_judged(const struct judge *j);
void cause_begin(struct judge *j, struct ask *ask);
void cause_look(const struct judge *j, struct ask *ask);
void cause_looks(const struct judge *j, struct lock *lock);
void cause_cancel(struct judge *j, const struct history_event *e);
void cause_end(struct judge *j, struct ask *ask, const struct history_event *e);
void cause_dropped(const struct judge *j, const struct ask *ask);
void cause_ended_well(struct judge *j, struct ask *ask, struct hold *hold);
void cause_released(struct judge *j, struct ask *ask, struct hold *hold);
void cause_lost(struct judge *j, struct hold *hold, bool is_with_set);
void cause_believes(struct judge *j, struct hold *hold);
void cause_granted(struct judge *j, struct hold *hold,
                   const struct history_event *e, bool was_held);
void cause_passed(struct judge *j, struct hold *hold);
void cause_freed(struct judge *j, struct hold *hold,
                 const struct history_event *e);
void cause_rest(struct judge *j, struct hold *hold);
bool cause_is_renewed_by_name(const struct hold *hold);
bool cause_has_call(const struct hold *hold);
bool cause_is_named_lease(const struct judge *j, const struct hold *hold,
                          const struct history_event *e);
bool cause_is_by_forgetting(const struct judge *j, const struct hold *hold);
bool cause_has_shortened(const struct judge *j, const struct lock *lock);

#endif
