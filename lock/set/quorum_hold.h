/* Quorums, for the calls on them (quorum_call.c): the members, and what each
 * owner has. Private to lock/. */
#ifndef HF_QUORUM_HOLD_H
#define HF_QUORUM_HOLD_H

#include <pthread.h>

#include "lock/api/op_request.h"
#include "lock/machine/quorum_turn.h"
#include "lock/set/one_server.h"

/* How long the first majority waits for members that are still connecting. */
#define QUORUM_SEEN_MS 200

/* Bytes of a member's last answer that are kept. */
#define QUORUM_ANSWER_MAX 120

struct hf_quorum_hold;

/* One member, for one owner: the call on it that is under way. */
struct hf_quorum_seat {
    struct hf_quorum_hold *hold;
    uint32_t member;
    bool was_held;              /* when the release began */
    int64_t proved_ms;          /* then: hf_quorum_proved_ms (QUORUM-11) */
    bool is_raising;            /* its counter of tokens, to raising_to */
    bool is_returned;           /* it is released when that has ended */
    int64_t raising_to;
    int64_t raised_to;          /* what the counter is at least */
    hf_status status;           /* of its last answer */
    bool is_temporary;          /* its last answer refused for now */
    char answer[QUORUM_ANSWER_MAX];
    struct hf_cancel cancel;
    struct hf_ask_room room;
};

/* What one owner has, or is about to. The ctx of its members' callbacks: kept
 * until the quorum is freed, for one that has begun may still run when all is
 * released. */
struct hf_quorum_hold {
    struct hf_list node;        /* in quorum->holds */
    struct hf_quorum *quorum;
    int64_t owner;              /* 0: nobody's; free for the next */
    struct hf_quorum_turn turn;
    struct hf_acquire_options wanted;   /* as the caller gave them */
    int64_t max_until_ms;       /* HF_NEVER: no max_hold_ms */
    int64_t token;              /* QTOKEN-1; 0: its locks have none */
    struct hf_ask_room *raises; /* one for each member; NULL: likewise */
    int64_t seen_by_ms;         /* until then, a majority waits for members that
                                   are not connected yet, to compare servers; 0:
                                   it does not */
    bool is_refused;            /* the acquire: members are on one server */
    struct hf_one_server one_server;    /* these */
    bool is_release;            /* the call under way, or the last */
    bool was_broken;            /* it was lost when its release began */
    bool is_busy;               /* a call is under way */
    struct hf_timer timer;      /* of the first member's loop; what it posts */
    struct hf_task task;
    hf_done *done;              /* of the call under way; NULL: it is waited for */
    void *ctx;
    struct hf_quorum_seat seats[];
};

struct hf_quorum {
    const struct hf_mem *mem;
    pthread_mutex_t mutex;      /* of the holds. Taken before a loop's lock */
    pthread_cond_t ended;       /* a call that is waited for */
    struct hf_list holds;
    bool is_fenced;             /* its members have tokens; set once */
    bool is_freed;              /* nothing is asked any more */
    bool is_compared;           /* whether members are on one server: once, with
                                   time for all of them to connect */
    uint32_t count;
    struct hf_lock *members[];
};

/* hf_quorum_check_threads - may the calling thread block until members have answered?
 *                           Else HF_E_INVAL.
 * hf_quorum_check_options - of an acquire; `blocks`: with the threads. */
hf_status hf_quorum_check_threads(const struct hf_quorum *quorum,
                                  struct hf_error *err);
hf_status hf_quorum_check_options(const struct hf_quorum *quorum,
                                  const struct hf_acquire_options *o,
                                  bool blocks, struct hf_error *err);

/* hf_quorum_find_hold - the owner's, or NULL; of 0: one that is nobody's.
 * hf_quorum_add_hold  - one that is nobody's, or a new one. NULL: no memory.
 * Both: [mutex] */
struct hf_quorum_hold *hf_quorum_find_hold(const struct hf_quorum *quorum,
                                           int64_t owner);
struct hf_quorum_hold *hf_quorum_add_hold(struct hf_quorum *quorum);

/* hf_quorum_most_safe_ms - how long a majority of the members is certain to be held;
 *   only members with a vote count. INT64_MIN: no majority has one. [mutex]
 * hf_quorum_forked - this is a child of the process that made it: the mutex may
 *   be held by a thread that is not here. */
int64_t hf_quorum_most_safe_ms(const struct hf_quorum_hold *hold);
bool hf_quorum_forked(const struct hf_quorum *quorum);

/* hf_quorum_set_answer  - the last answer of a member.
 * hf_quorum_note_answer - likewise, from the end of its call. The end of a
 *                         cancelled call is not an answer.
 * hf_quorum_note_returned - a member that was granted is released, and the acquire
 *                         goes on: its "yes" no longer counts.
 * hf_quorum_count_yes   - members whose last answer is yes.
 * hf_quorum_fill_error  - with all answers; returns `status`.
 * hf_quorum_judge       - how the call ends; fills the error.
 * All: [mutex]. quorum_answers.c */
void hf_quorum_set_answer(struct hf_quorum_seat *seat, hf_status status,
                   const char *text);
void hf_quorum_note_answer(struct hf_quorum_seat *seat, hf_status status,
                    const struct hf_error *err);
void hf_quorum_note_returned(struct hf_quorum_seat *seat);
uint32_t hf_quorum_count_yes(const struct hf_quorum_hold *hold);
hf_status hf_quorum_judge(const struct hf_quorum_hold *hold,
                          struct hf_error *err);
hf_status hf_quorum_fill_error(struct hf_error *err, hf_status status,
                             const struct hf_quorum_hold *hold);

/* hf_quorum_seen_by     - until when an acquire that begins now waits for members
 *                         that are connecting; within its wait_ms, unless that is
 *                         0. 0: it does not wait.
 * hf_quorum_waits_to_compare - a majority is ours, and such a member is asked.
 * hf_quorum_is_on_one_server - are two members? Then the acquire is refused.
 * hf_quorum_note_compared - a majority is about to be counted. Logs, once, if the
 *                         servers cannot be compared.
 * All: [mutex]. quorum_servers.c */
int64_t hf_quorum_seen_by(const struct hf_quorum *quorum,
                          const struct hf_acquire_options *o, int64_t now_ms);
bool hf_quorum_waits_to_compare(const struct hf_quorum_hold *hold);
bool hf_quorum_is_on_one_server(struct hf_quorum_hold *hold);
void hf_quorum_note_compared(const struct hf_quorum_hold *hold);

/* hf_quorum_number - gives the token to the servers of the votes; NUMBERING_DONE: a
 *                    majority has it. `done` follows for each seat that waits.
 * hf_quorum_raise  - the counter of one member, if it is smaller.
 * hf_quorum_note_raised - from `done`.
 * hf_quorum_counts - a vote that counts: with tokens, only if its server has ours.
 * All: [mutex]. quorum_token.c */
enum hf_quorum_numbering { NUMBERING_DONE, NUMBERING_WAITS, NUMBERING_FAILED };
enum hf_quorum_numbering hf_quorum_number(struct hf_quorum_hold *hold,
                                          hf_done *done);
void hf_quorum_raise(struct hf_quorum_seat *seat, hf_done *done);
void hf_quorum_note_raised(struct hf_quorum_seat *seat, hf_status status);
bool hf_quorum_counts(const struct hf_quorum_hold *hold, uint32_t member);

/* hf_quorum_confirm     - renews each member that its server has not confirmed since the
 *                         latest grant (QUORUM-10).
 * hf_quorum_note_losses - takes in all members that are lost by now. True: that broke
 *                         the quorum.
 * hf_quorum_proved_ms   - when the server of a member that is held last proved that it
 *                         has it (hf_lease_proved_ms). HF_NEVER: the client no longer
 *                         has the member.
 * All: [mutex]. quorum_losses.c */
void hf_quorum_confirm(const struct hf_quorum_hold *hold);
bool hf_quorum_note_losses(struct hf_quorum_hold *hold);
int64_t hf_quorum_proved_ms(const struct hf_quorum_hold *hold, uint32_t member);

/* hf_quorum_on_timer, hf_quorum_on_task - of each hold.
 * hf_quorum_has_hold - its callbacks are this quorum's. quorum_call.c */
void hf_quorum_on_timer(struct hf_timer *timer);
void hf_quorum_on_task(struct hf_task *task);
bool hf_quorum_has_hold(const struct hf_hold *hold, const void *quorum);

#endif
