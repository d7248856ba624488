/* The properties of a history: what must never be, and what excuses it. Private to
 * the judge.
 *
 * An excuse is always one line, which the violation would have named; without such
 * a line there is none.
 *
 * P1   Two owners never believe at one instant of true time that they hold one
 *      lock. A belief lasts from its `safe` line until that line's `until`, that
 *      moment excluded. Readers may believe together, and one owner on both sides
 *      of a read-write lock. Two kinds of one name are one lock.
 *      Excused by: what has taken the first owner's hold away before the second was
 *      granted (freed as deleted, forced, forgot; a failover, or older data, without it); a grant
 *      of a server that has been replaced, as long as the belief ends no later
 *      than that; a TTL that a peer or an operator has made shorter, until it is
 *      as long again; likewise a request of the owner's that the server executes after its
 *      client has died, which makes the TTL shorter or releases the hold: another client,
 *      which has renewed the hold by its name, does not learn of it; clocks (below). A hold that of
 *      all masters only the new one has is granted by the failover. What another owner's command
 *      does to a hold (by=other, or a renewal that names it) grants nothing, and ends no excuse of
 *      a failover. And what a server granted while another had the lock, and lost again (a slot
 *      that moves to and fro). Of a quorum: members that were taken away from one of the owners,
 *      without which it has no majority.
 * P2a  When a server frees a hold that has expired or was released, its owner
 *      believes in it no more.
 * P2b  When it has expired, its owner has been told before (before slack_ms are
 *      over), unless its last release is under way, or it has not heard of the
 *      grant. Suspended: it is told slack_ms after it continues at the latest.
 * P2c  When it was taken away (above), its owner is told within tell_ms; or by the
 *      end of its belief, if that is later, with a lease of its own, where a fault
 *      touches the owner meanwhile, and where clocks are the excuse. An owner that a
 *      fault touches, and whose belief has become shorter, is told by the end of the
 *      longest belief since it acquired the hold; if it believes in nothing, by the end
 *      that it was granted. Of a quorum that nothing renews, the owner is told by the end of
 *      its last belief, also if the quorum was granted again since then (by a member that
 *      came later). The time in
 *      which the owner is suspended is not counted, and is not such a fault.
 *      Excused by: its own acquire, of which the server executes another copy while no acquire
 *      of its owner is pending, and before another owner was granted the lock: it is held again.
 *      P2a and P2b are excused where P1 is; a loss is then told as P2c says.
 *
 * P3 and P6a are judged when the quiet ends, at the first line behind `quiet` that
 * asks, frees, begins or ends a client, or is a fault; and when all is over.
 *
 * P3   When all is quiet, an owner's acquires less its releases are what the server
 *      counts, and what its client says (`count`).
 *      Excused by: a loss that was told, or, until all is over, of which P2 says by
 *      when it is told; a call on the hold whose outcome is unknown, until one that
 *      is answered.
 * P4a  No renewal is executed after the last release has returned OK (unless a
 *      new master has not heard of it, of a read-write lock: whoever else holds
 *      that renews all of its hash).
 *      After an error nothing is certain: not judged.
 * P4b  A renewal does not make a hold.
 *      Neither is judged on a server that has been replaced: it may have been
 *      stopped, and executes late what it was sent.
 * P5   An acquire that waits does not wait longer than wake_ms for a lock that is
 *      free for it: nobody holds it; for a reader, nobody holds it alone, its owner
 *      does not read yet, and its client did not ask before it to hold the lock
 *      alone. Longer: for
 *      look_ms, if it was freed without a message (expired, taken away; a write side
 *      released by a peer), or if it is asked for behind a call of its client that
 *      waits already.
 *      Not counted: while a fault touches the client, while the client is
 *      suspended, while the lock's server is down; after each of these,
 *      settle_ms, or until the bound above has passed.
 *      Likewise of a fair lock whose server has forgotten its queue.
 * P5b  A fair lock is granted in the order in which its waiters came into the
 *      server's queue, to those that wait yet: nobody is granted it before a call
 *      that was put there earlier. And while a place is honoured, it is free for
 *      nobody but the first in the queue (P5).
 *      Begins anew with the end of a hold of its owner's, which its calls enter.
 *      A server that has been replaced has a queue of its own, which is not judged.
 *      Excused: who came earlier was suspended since, or touched by a fault, or
 *      settle_ms before; its clock, as below. Grants of peers are not judged.
 * P6a  When all is quiet, no server holds what no client counts.
 *      Excused, where the hold ends by itself: its client has died, or was told
 *      that it is lost; a new master has not heard of its release, or the old one
 *      has executed that. Not judged: holds of peers.
 * P6b  And no key is left, but those of locks that are held, and those that `may`.
 * P6c  And nobody stands in the queue of a fair lock whose client lives, but for
 *      places that `may`.
 * P7   Each call ends by its `due`. The time in which its client is suspended
 *      is not counted. Not judged: clients that have died.
 * P8   The fencing tokens of a lock grow in the order of grants: on the server; and
 *      from each end of an acquire to those that are asked for after it. The client
 *      is told the server's. A re-entry may keep its hold's. A `reset` begins anew. A call that
 *      asks for the latest token is told none that is smaller than one that was told before
 *      it asked. (Not judged where a server has been replaced, which may have answered.)
 * P9   On each server at most one owner holds a lock alone, and then nobody else
 *      reads. One owner may hold both sides of a read-write lock.
 *      Excused: a peer of another kind (plain, read-write) of that name; of a quorum,
 *      what excuses P1.
 * P10a What is believed was granted: a `safe` line is covered by a server's record of
 *      the hold that ends no earlier. (slack_ms apart at most.)
 * P10b A server's record does not become shorter than its owner's belief.
 *      P10a and P10b are excused where P1 is; but of a hold that was taken away
 *      nobody believes beyond its last end.
 * P10c An acquire that ends well was executed: there is a held line of its owner
 *      after it was asked; or, after a call on the hold whose outcome was unknown, the
 *      server counts as many acquires already. Where the client says which server it
 *      takes for the master (0: none that it knows of), another one that had been
 *      replaced by then does not count. Not judged: parts of a call of a set.
 * P10d A belief neither begins nor moves later once its owner was told of the loss,
 *      unless a held line follows; nor while its last release is under way. Not
 *      judged: what others believe in, when its client has died.
 * P11  Permits are neither made nor lost: how many there are on a server, out and
 *      available, changes by no acquire, renewal or release, and is set only where
 *      there are none. A call that resizes it sets its own number, once; when it has ended
 *      well, a server has done so, or had that number at some moment since it was asked. A call
 *      that sets the number sets its own. A call deletes it only while no permit is in use.
 *      What nobody owns, a semaphore or a latch, is changed by requests alone, each
 *      of which does its step once (takes n, adds n, removes n, counts down by n) or undoes
 *      it; never below 0 by who takes. A drain takes, once, all that is available, and the
 *      client says how many; a deletion leaves no number, once. When a call has ended well,
 *      its requests have done one step: but a latch that was at 0, or not there, at some
 *      moment since it was asked is not counted down; and nobody returns from awaiting
 *      another one. A drain takes nothing, a deletion finds none, only where a server that
 *      may have answered (cause.h) had nothing available, or no number, at some moment.
 *      A call that sets the number says so (n) if it did, and only then; if not, a server
 *      had one.
 *      When all is quiet, a call that took and has not ended well has changed nothing, unless
 *      the semaphore was deleted meanwhile; one that adds or removes permits has done its step
 *      if it ended without a reply (HF_E_CONNECT, _NOREPLY, _PROTOCOL), and nothing after
 *      another error. The same is true of a call that counts a latch down, where the latch was
 *      there, and not at 0, since before it was asked. Where repeat_ms is given, a call that
 *      changes the number need have done nothing when so much time has passed since it was
 *      asked, and from then on it does nothing more; by a hundredth of that time, a clock may
 *      be wrong. What was taken is not returned to a semaphore that does not exist. Nor do an
 *      add and a reduction change such a one; they say whether there was one.
 *      Excused: an operator or a new master, for requests that were asked before;
 *      servers that were replaced; clients that have died.
 *
 * P12  Nothing fails, and nothing is lost, without a line that explains it: cause.h.
 *
 * Permits: where as many owners may hold a permit as there are, P1 and P9 are of one
 * more than these; if there are fewer than before, those that are out stay out, and none
 * is granted until fewer are; a permit that has lapsed is out no more, whether somebody has
 * taken it or not, but is its owner's again by a renewal; P5 is of a call while fewer
 * are out. Excused: where an operator has deleted the number of permits while some
 * were out (on another server, their slot being on the move).
 *
 * Clocks: the rates of a client and of the server that has its hold are at most
 * `ppm` apart, and neither jumps. A `clock` line that says otherwise excuses the
 * beliefs of the holds that there are, until the hold's first held line by its
 * owner after the rates are in order again; and what is believed by a call that was
 * under way then. */
#ifndef CHECK_PROPERTIES_H
#define CHECK_PROPERTIES_H

#include "tests/judge/state.h"

bool last_release_is_under_way(const struct hold *hold);

/* p1_ ... p11_: each looks at the state as it is when its line has been taken in, or
 * where it says so, before, and adds what is wrong. */
void p1_one_believes(struct judge *j, struct hold *hold);
void p2_before_freed(struct judge *j, struct hold *hold, enum history_why why);
void p2_taken_away(struct judge *j, struct hold *hold);
void p2_granted(struct judge *j, struct hold *hold);
void p2_overdue(struct judge *j, struct hold *hold);
void p3_counts(struct judge *j, struct hold *hold);
void p4_renewed(struct judge *j, struct hold *hold, bool was_held);
void p5_overdue(struct judge *j, struct ask *ask);
void p5_in_order(struct judge *j, struct hold *hold);
void p6_left(struct judge *j, struct hold *hold);
void p6_key(struct judge *j, const struct history_event *key);
void p7_overdue(struct judge *j, struct ask *ask);
void p8_granted(struct judge *j, struct hold *hold, int64_t token);
void p8_told(struct judge *j, struct ask *ask, struct hold *hold,
             int64_t token);
void p8_latest(struct judge *j, const struct ask *ask, int64_t token);
void p9_one_holds(struct judge *j, struct hold *hold, struct record *record, bool is_new);
void p10_believed(struct judge *j, struct hold *hold);
void p10_extended(struct judge *j, struct hold *hold, int64_t until_us);
void p10_shortened(struct judge *j, struct hold *hold, struct record *record);
void p10_granted(struct judge *j, struct ask *ask, struct hold *hold,
                 int64_t master);
void p11_stock(struct judge *j, struct lock *lock, const struct stock *stock,
               const struct history_event *e);

#endif
