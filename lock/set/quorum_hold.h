/* The records of a quorum: its members, and a hold for each owner. Private to lock/.
 *
 * [mutex]: the caller holds quorum->mutex. */
#ifndef HF_QUORUM_HOLD_H
#define HF_QUORUM_HOLD_H

#include <pthread.h>

#include "lock/api/op_request.h"
#include "lock/machine/quorum_turn.h"
#include "lock/set/same_server.h"

/* How long the first majority waits for members that are still connecting, so that their
 * servers can be compared: several round trips, and a delay that a user hardly notices. */
#define QUORUM_COMPARE_WAIT_MS 200

/* Bytes of a member's last error that are kept for messages: the address and the reason;
 * the rest is cut, so that the error of the quorum has space for several members. */
#define QUORUM_MEMBER_ERROR_MAX 120

struct hf_quorum_hold;
struct hf_quorum_renewal;

/* One member, for one owner, and the pending call on it. */
struct hf_quorum_member_call {
    struct hf_quorum_hold *hold;
    uint32_t member;
    bool was_held;                         /* the member was held when the release began */
    int64_t proved_held_before_release_ms; /* hf_quorum_proved_ms at that time (QUORUM-11) */
    bool is_raising_token;                 /* its token counter is being raised to
                                              token_being_raised_to */
    bool must_be_released_after_raise;     /* the member must be released when that has ended */
    int64_t token_being_raised_to;
    int64_t token_raised_to;               /* the counter is at least this number */
    hf_status status;                      /* the result of its last call */
    bool had_server_no_hold;               /* of a release: the server replied that it has no such
                                              hold */
    bool was_refusal_temporary;            /* that was a temporary refusal */
    char result_text[QUORUM_MEMBER_ERROR_MAX]; /* the text of that result */
    struct hf_cancel cancel;
    struct hf_op_storage storage;
};

/* A hold of one owner, or its pending acquire. It is the ctx of the members' callbacks, and
 * is kept until the quorum is freed: a callback that has begun may still run when all
 * members are released. */
struct hf_quorum_hold {
    struct hf_list node;        /* in quorum->holds */
    struct hf_quorum *quorum;
    int64_t owner;              /* 0: unused; the next owner gets it */
    struct hf_quorum_turn turn;
    struct hf_acquire_options options;  /* the options of the caller */
    int64_t max_hold_until_ms;  /* when max_hold_ms ends; HF_NEVER: there is none */
    int64_t token;              /* QTOKEN-1; 0: its locks have none */
    struct hf_op_storage *raise_ops; /* one for each member; NULL: its locks have no token */
    int64_t compare_until_ms;        /* until then, a majority waits for members that are not
                                        connected yet, to compare servers; 0: it does not */
    bool is_refused_for_same_server; /* the acquire is refused: members are on one server */
    struct hf_same_server members_on_one_server; /* these members */
    bool is_call_release;       /* the pending or last call is a release */
    bool is_call_renewal;       /* the same, hf_quorum_renew; a release ends it */
    struct hf_quorum_renewal *renewal; /* of the owner's renewals by hand; NULL: none yet */
    bool had_lost_majority;            /* the quorum was lost when its release began */
    bool has_pending_call;      /* a call is pending */
    struct hf_timer turn_timer; /* in the loop of the first member; it posts `turn_task` */
    struct hf_task turn_task;
    hf_done *done;              /* of the pending call; NULL: a thread waits for it */
    void *ctx;
    struct hf_quorum_member_call member_calls[];
};

struct hf_quorum {
    const struct hf_mem *mem;
    pthread_mutex_t mutex;      /* of the holds. Lock it before the mutex of a loop */
    pthread_cond_t call_ended;  /* a call for which a thread waits has ended */
    struct hf_list holds;
    bool is_fenced;             /* its members have tokens; set once */
    bool is_freed;              /* no further request is sent */
    bool are_servers_compared;  /* the servers of the members were compared once, when all had had
                                   time to connect */
    uint32_t count;
    struct hf_lock *members[];
};

/* hf_quorum_check_threads - returns HF_E_INVAL if the calling thread must not block until
 *   members reply. */
hf_status hf_quorum_check_threads(const struct hf_quorum *quorum,
                                  struct hf_error *err);

/* hf_quorum_check_options - checks the options of an acquire; with `blocks` it also calls
 *   hf_quorum_check_threads. */
hf_status hf_quorum_check_options(const struct hf_quorum *quorum,
                                  const struct hf_acquire_options *o,
                                  bool blocks, struct hf_error *err);

/* hf_quorum_find_hold - returns the hold of this owner, or NULL. Owner 0: an unused hold.
 *   [mutex] */
struct hf_quorum_hold *hf_quorum_find_hold(const struct hf_quorum *quorum,
                                           int64_t owner);

/* hf_quorum_add_hold - returns an unused hold, or allocates one. NULL: no memory. [mutex] */
struct hf_quorum_hold *hf_quorum_add_hold(struct hf_quorum *quorum);

/* hf_quorum_majority_safe_ms - returns for how many ms a majority of the members is certainly
 *   held; only members with a vote count. INT64_MIN: there is no majority. [mutex] */
int64_t hf_quorum_majority_safe_ms(const struct hf_quorum_hold *hold);

/* hf_quorum_forked - returns whether this process is a fork of the process that created the
 *   quorum. Then a thread that does not exist here may hold the mutex. */
bool hf_quorum_forked(const struct hf_quorum *quorum);

/* ---- quorum_answers.c: the results of the members; all [mutex] ---- */

/* hf_quorum_set_answer - records the last result of a member. */
void hf_quorum_set_answer(struct hf_quorum_member_call *call, hf_status status,
                   const char *text);

/* hf_quorum_note_answer - does the same with the result of its call, unless that call was
 *   cancelled. */
void hf_quorum_note_answer(struct hf_quorum_member_call *call, hf_status status,
                    const struct hf_error *err);

/* hf_quorum_note_returned - a member that was granted is released while the acquire
 *   continues: its grant no longer counts. */
void hf_quorum_note_returned(struct hf_quorum_member_call *call);

/* hf_quorum_count_yes - returns how many members were granted last; in a release, how many were
 *   released or found to be free. */
uint32_t hf_quorum_count_yes(const struct hf_quorum_hold *hold);

/* Ends the pending call of the hold. Returns its status, and fills the error. [mutex] */
typedef hf_status hf_quorum_end_call(struct hf_quorum_hold *hold, struct hf_error *err);

/* hf_quorum_leave - leaves the mutex. If the pending call has ended (`is_over`), it first lets
 *   `end` end it, and then calls its `done`; or it wakes the thread that waits, which does so
 *   itself. */
void hf_quorum_leave(struct hf_quorum_hold *hold, bool is_over, hf_quorum_end_call *end);

/* hf_quorum_call_status - returns the status of the call, and fills the error. */
hf_status hf_quorum_call_status(const struct hf_quorum_hold *hold,
                                struct hf_error *err);

/* hf_quorum_fill_error - writes the results of all members to the error. Returns `status`. */
hf_status hf_quorum_fill_error(struct hf_error *err, hf_status status,
                             const struct hf_quorum_hold *hold);

/* ---- quorum_servers.c: whether two members are on one server; all [mutex] ---- */

/* hf_quorum_compare_until_ms - returns until when an acquire that begins now waits for members that
 *   are connecting, at most for its wait_ms (if that is not 0). 0: it does not wait. */
int64_t hf_quorum_compare_until_ms(const struct hf_quorum *quorum,
                                   const struct hf_acquire_options *o, int64_t now_ms);

/* hf_quorum_waits_to_compare - returns whether a majority is held and a member that is
 *   connecting is still requested. */
bool hf_quorum_waits_to_compare(const struct hf_quorum_hold *hold);

/* hf_quorum_shares_a_server - returns whether two members are on one server. Then the
 *   acquire is refused. */
bool hf_quorum_shares_a_server(struct hf_quorum_hold *hold);

/* hf_quorum_end_comparison - ends the wait for run_ids: the votes are counted from now on. Logs
 *   once that a server did not send its run_id, so that it cannot be compared. */
void hf_quorum_end_comparison(const struct hf_quorum_hold *hold);

/* ---- quorum_token.c: fencing tokens; all [mutex] ---- */

enum hf_quorum_raising { RAISING_DONE, RAISING_PENDING, RAISING_FAILED };

/* hf_quorum_raise_tokens - raises the token counters on the servers of the votes. RAISING_DONE:
 *   a majority has the token. RAISING_PENDING: `done` is called for each pending member. */
enum hf_quorum_raising hf_quorum_raise_tokens(struct hf_quorum_hold *hold,
                                              hf_done *done);

/* hf_quorum_raise - raises the counter of one member, if it is smaller than the token. */
void hf_quorum_raise(struct hf_quorum_member_call *call, hf_done *done);

/* hf_quorum_note_raised - processes the result of hf_quorum_raise. Call it from `done`. */
void hf_quorum_note_raised(struct hf_quorum_member_call *call, hf_status status);

/* hf_quorum_vote_counts - returns whether the vote of a member counts: with tokens, only if its
 *   server has the token of the quorum. */
bool hf_quorum_vote_counts(const struct hf_quorum_hold *hold, uint32_t member);

/* ---- quorum_losses.c; all [mutex] ---- */

/* hf_quorum_confirm - renews each member that its server has not confirmed since the latest
 *   grant (QUORUM-10). */
void hf_quorum_confirm(const struct hf_quorum_hold *hold);

/* hf_quorum_note_losses - records all members that are lost by now. It returns true if the
 *   quorum is lost by this. */
bool hf_quorum_note_losses(struct hf_quorum_hold *hold);

/* hf_quorum_proved_ms - returns when the server of a held member last proved that it has the
 *   hold (hf_lease_proved_ms). HF_NEVER: the client no longer has the hold. */
int64_t hf_quorum_proved_ms(const struct hf_quorum_hold *hold, uint32_t member);

/* ---- quorum_renew.c ---- */

/* hf_quorum_renewal_free - NULL is allowed. */
void hf_quorum_renewal_free(const struct hf_quorum *quorum, struct hf_quorum_renewal *renewal);

/* hf_quorum_renewal_broken - the quorum is lost: a pending renewal ends. [mutex] */
void hf_quorum_renewal_broken(struct hf_quorum_hold *hold);

/* hf_quorum_renewal_stop - a release begins: requests without a reply are cancelled. [mutex] */
void hf_quorum_renewal_stop(struct hf_quorum_hold *hold);

/* hf_quorum_renewal_go_on - ends the pending renewal, if it can end. Not with the mutex. */
void hf_quorum_renewal_go_on(struct hf_quorum_hold *hold);

/* ---- quorum_call.c ---- */

/* hf_quorum_on_timer - the callback of hf_quorum_hold.turn_timer. */
void hf_quorum_on_timer(struct hf_timer *timer);

/* hf_quorum_on_task - the callback of hf_quorum_hold.turn_task. */
void hf_quorum_on_task(struct hf_task *task);

/* hf_quorum_has_hold - returns whether the callbacks of `hold` belong to this quorum. */
bool hf_quorum_has_hold(const struct hf_hold *hold, const void *quorum);

#endif
