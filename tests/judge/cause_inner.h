/* What the parts of P12 share: calls (cause.c), calls of sets (cause_set.c) and holds
 * (cause_hold.c). Rules: cause.h. Private to these three. */
#ifndef CHECK_CAUSE_INNER_H
#define CHECK_CAUSE_INNER_H

#include "tests/judge/cause.h"

/* How a call ended. */
enum failure { OK, TIMED_OUT, CANCELLED, IS_LOST, NOT_OWNER, INVALID, CLOSED,
               UNREPLICATED, IN_USE, ERROR };

/* cause_is_touched - may a fault explain what has happened since then?
 * cause_is_hold_touched - likewise of a hold, also by an excuse of its own.
 * cause_is_wanted - what is counted is judged where the history gives cause_ms.
 * cause_is_ending - has the client been told to close, or to end?
 * cause_is_at_a_server - has any server it that answers calls?
 * cause_least_count - how many acquisitions the server that answers, and has the
 *                   fewest, counts.
 * cause_is_behind_another - is an earlier call of its owner, or of its client, under
 *                   way, which goes first?
 * cause_forced    - a hold is freed by force, by a server that decides or by another:
 *                   has a call named it?
 * cause_released_by_name - a hold is released: a forced release that names it did it.
 * cause_has_lost, cause_has_other_hold - of the call's owner: has a hold of the lock been
 *                   lost; does another hold of the lock, or call on it, refuse the call?
 * cause_is_renewed_anyway - of an extension: does the client renew the hold by itself, or may it?
 * cause_end_renewed - an extension or renewal has ended well: did the hold last that long?
 * cause_fail_call - reports the call's failure.
 * cause_end_whole - the call of a set ends.
 * cause_end_part  - a part of such a call ends. False: the call of the set has ended
 *                   before, so the part is judged as any call.
 * cause_is_lost_with_set - was another hold of that owner lost at this moment by itself, or
 *                   has the max_hold of its set passed?
 * cause_is_max_over - has the max_hold of the hold passed, perhaps?
 * cause_look_at_missing - the hold of a member of a quorum is renewed: have the members that
 *                   its owner does not have been requested again (P12j)?
 * cause_member_taken - the hold of a member has expired, or was taken away without a
 *                   release. A call of the set may be under way.
 * cause_is_majority_missing - of the hold of a quorum: has its owner lost, or may faults
 *                   explain that it lost, so many members that the others are no majority?
 * cause_has_no_majority - the same of the members that are missing, or touched, now.
 * cause_is_majority_touched - of a client and a quorum: has a fault touched, since then, so
 *                   many members that the others are no majority?
 * cause_least_us  - of so many ms, by a clock that may be fast. */
int64_t cause_answer_us(const struct judge *j);
int64_t cause_slack_us(const struct judge *j);
bool cause_is_touched(const struct judge *j, uint32_t client,
                       const struct lock *lock, int64_t since_us);
bool cause_is_hold_touched(const struct judge *j, const struct hold *hold,
                            struct moment since);
bool cause_is_ending(const struct judge *j, uint32_t client);
int64_t cause_least_us(const struct judge *j, int64_t ms);
bool cause_is_at_a_server(const struct judge *j, const struct hold *hold);
int64_t cause_least_count(const struct judge *j, const struct hold *hold);
bool cause_is_behind_another(const struct ask *ask);
void cause_forced(struct judge *j, const struct hold *hold, bool decides);
void cause_released_by_name(struct judge *j, const struct hold *hold);
bool cause_has_lost(const struct ask *ask);
bool cause_has_other_hold(const struct ask *ask);
bool cause_is_renewed_anyway(const struct ask *ask);
void cause_end_renewed(struct judge *j, const struct ask *ask, const struct history_event *e);
void cause_fail_call(struct judge *j, const struct ask *ask,
                     const struct history_event *e, const char *why);
void cause_end_whole(struct judge *j, struct ask *ask, const struct history_event *e,
                     enum failure failure);
bool cause_end_part(struct judge *j, struct ask *part, enum failure failure);
bool cause_is_lost_with_set(const struct judge *j, const struct hold *hold);
bool cause_is_max_over(const struct judge *j, const struct hold *hold);
void cause_look_at_missing(struct judge *j, const struct hold *hold);
void cause_member_taken(struct judge *j, const struct hold *hold);
bool cause_is_majority_missing(const struct judge *j, const struct hold *hold);
bool cause_has_no_majority(const struct judge *j, const struct hold *hold);
bool cause_is_majority_touched(const struct judge *j, uint32_t client,
                               const struct lock *set, int64_t since_us);
bool cause_is_wanted(const struct judge *j, enum hold_class class);

#endif
