/* Quorums and multi-locks of programs: their calls of the library, and the holds of their
 * members. A multi-lock's members are locks of the plan, taken by an
 * owner with a number of its own; each of its calls is one call of each member. The
 * members of a quorum are observed: a member that it has was requested when the quorum was,
 * and a member that it no longer has was released. */
#ifndef SIM_SETS_H
#define SIM_SETS_H

#include "tests/sim/program_inner.h"

/* sets_open  - handles of the program's quorums and multi-locks, when those of its locks
 *              are there. sets_free - before its clients are freed.
 * sets_owner - gives a new owner its form, and makes its members'.
 * sets_member - an owner of one of its members: any number names one.
 * sets_acquire, _release - of any form. They begin a call, whose status comes to `done`
 *              with `c`, unless they fail.
 * sets_renew - the same.
 * sets_effect - the effect of such a call that ended well.
 * sets_cancel - ends a call of any form.
 * sets_status - the status of the call for the history: a quorum whose servers have too few
 *              replicas fails with HF_UNREPLICATED.
 * sets_refused - the same where a quorum is refused because two members are on one server: then
 *              HF_UNREPLICATED, for which the judge wants no cause. A violation if none are.
 * sets_note_lost, _check_lost - before a multi-lock is released, and with its result: it must be
 *              HF_LOST if a member was lost, whatever the other members' servers reply. They look
 *              at plans in which one server of a cluster refuses scripts, and nothing else fails.
 * sets_token - the token of the grant.
 * sets_asked, _ended - the members' calls, where `c` is a call of a set.
 * sets_lost  - releases its members.
 * sets_check_waits - long after the faults: a call that waits for a set whose members are
 *              free is a violation.
 * sets_check_peer - a peer is about to leave one member of a quorum, in a plan whose faults are
 *              peers alone: a call that has waited for the quorum beside others, most of which
 *              nobody has had for long, is a violation (QUORUM-4).
 * sets_watch - reads the state of its members; checks a multi-lock. */
void sets_open(struct program *p);
void sets_free(struct program *p);
void sets_owner(struct program *p, struct owner *o);
struct owner *sets_member(struct owner *o, int64_t n);
hf_status sets_acquire(struct owner *o, struct hf_acquire_options *options,
                       hf_done *done, struct call *c);
hf_status sets_release(struct owner *o, hf_done *done, struct call *c);
hf_status sets_renew(struct owner *o, int64_t lease_ms, hf_done *done, struct call *c);
int sets_effect(const struct owner *o);
void sets_cancel(struct call *c);
hf_status sets_status(const struct call *c, hf_status status);
hf_status sets_refused(const struct call *c, hf_status status, bool has_begun);
void sets_note_lost(struct call *c);
void sets_check_lost(const struct call *c, hf_status status);
int64_t sets_token(const struct owner *o);
void sets_asked(struct call *c);
void sets_ended(struct call *c, hf_status status);
void sets_lost(struct owner *o, const struct hf_lock *lock, enum hf_lost reason);
void sets_check_waits(struct program *p);
void sets_check_peer(struct sim *sim, int64_t lock);
void sets_watch(struct owner *o);

#endif
