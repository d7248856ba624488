/* How a caller waits for a lock, as a pure machine: events and the time go in,
 * what to do next comes out. Private to lock/. "yes": the server has confirmed
 * the subscription; "no": it has refused it.
 *
 *   QUEUED -due--> ASKING -granted-> DONE <-due, and too late- any but ASKING
 *     |            ^  | ^
 *     |            |  | +-yes, no, due-- SUBSCRIBING -yes, no--+
 *     |  woken, due|  | refused, not       ^                   |
 *     |            |  | subscribed         |                   |
 *     |            |  +--------------------+                   |
 *     |            |  | refused            |                   |
 *     |            |  v                    | not subscribed    |
 *     +-owes->     SLEEPING <--------------+-------------------+
 *                  (TURN-1, TURN-2: it gives way until due)
 *
 * An unanswered question counts as refused; after the deadline it ends in DONE.
 *
 * WAIT-1  Only the first waiter in a lock's line asks the server and sleeps
 *         until a message comes, so one message wakes one waiter. When the
 *         first one leaves, the next one asks: no wake-up is lost with a waiter
 *         that gives up.
 * WAIT-2  A waiter sleeps only after the server has confirmed the subscription
 *         and was asked once more after that.
 * WAIT-3  A message that comes while a question is under way counts: the
 *         generation has changed, so the waiter asks again.
 * WAIT-4  A sleep ends when the holder's TTL ends (expiry publishes nothing),
 *         at the deadline, and after cap_ms: a TTL may be shortened without a
 *         message, too.
 * WAIT-5  Without a live subscription (the server refused it, or has not
 *         confirmed it yet) the waiter asks every WAIT_POLL_MS.
 * WAIT-6  After a release by this client the first waiter in line asks, whether
 *         the message of that release comes or not.
 * WAIT-7  After the server has answered a line once, the line continues to wait
 *         while the server is unreachable or refuses temporarily (PATIENCE-2): its
 *         first waiter sends its request again after WAIT_POLL_MS, or when the
 *         subscription is live again.
 * WAIT-8  Giving way ends when a sleep would end (WAIT-4), at the latest; later
 *         events only shorten it. A waiter whose turn would come after its
 *         deadline asks at once.
 * WAIT-9  A waiter of a spin lock subscribes to nothing, for such a release may
 *         publish nothing. It sleeps WAIT_SPIN_FIRST_MS, then each time twice
 *         as long, WAIT_SPIN_MAX_MS at most. Messages that its line hears for
 *         waiters of another kind wake it, too.
 *
 * Source: WIRE 7, 9.2. */
#ifndef HF_WAIT_H
#define HF_WAIT_H

#include <stdbool.h>
#include <stdint.h>

#include "lock/lock.h"
#include "lock/machine/channel.h"

#define WAIT_POLL_MS 1000
#define WAIT_SPIN_FIRST_MS 1
#define WAIT_SPIN_MAX_MS 128

enum hf_wait_event {
    EVENT_REFUSED,              /* held by another */
    EVENT_UNANSWERED,           /* the server is away, and may come back */
    EVENT_SUBSCRIBED,           /* the server has confirmed the subscription */
    EVENT_NOT_SUBSCRIBED,       /* the server refused it */
    EVENT_WOKEN,                /* a message, or the subscription was lost */
    EVENT_DUE                   /* due_ms has come, or it is this waiter's turn
                                   (WAIT-1, WAIT-6). Ignored while ASKING */
};

enum hf_wait_todo {
    DO_NOTHING,
    DO_ASK,
    DO_SUBSCRIBE,
    DO_SLEEP,                   /* until due_ms */
    DO_GIVE_UP                  /* the deadline has passed */
};

enum hf_wait_state {
    IS_QUEUED,
    IS_ASKING,
    IS_SUBSCRIBING,
    IS_SLEEPING,
    IS_DONE
};

/* What became of the questions that a line has asked. Its waiters share it. */
struct hf_wait_answers {
    bool has_answered;          /* the server, since the line began (WAIT-7) */
    hf_status last_error;       /* why the last question had no answer; HF_OK:
                                   it had one */
};

struct hf_wait {
    enum hf_wait_state state;
    int64_t deadline_ms;        /* INT64_MAX: none */
    int64_t due_ms;             /* when to tell EVENT_DUE */
    int64_t spin_ms;            /* its next sleep (WAIT-9); 0: it subscribes */
    bool gives_way;             /* TURN-1, TURN-2: it sleeps though the lock may
                                   be free */
    uint32_t asked_generation;
    bool asked_live;            /* was the subscription live when it asked? */
    int64_t asked_ms;           /* when: set by its owner, which asks */
    int late_grants;            /* that came too late to be of use */
};

/* hf_wait_init - QUEUED.
 * hf_wait_spin - after hf_wait_init: it subscribes to nothing (WAIT-9).
 * hf_wait_requeue - QUEUED again, with the same deadline.
 * hf_wait_end  - DONE: its owner wants nothing more.
 * hf_wait_step - one event. `ttl_ms` counts for EVENT_REFUSED: what is left of
 *                the holder's lease, < 0 if it has none; `cap_ms` is how long
 *                to sleep then. After DO_ASK the owner asks and reports
 *                EVENT_REFUSED or EVENT_UNANSWERED, or is done. */
void hf_wait_init(struct hf_wait *w, int64_t deadline_ms);
void hf_wait_spin(struct hf_wait *w);
void hf_wait_requeue(struct hf_wait *w);
void hf_wait_end(struct hf_wait *w);
enum hf_wait_todo hf_wait_step(struct hf_wait *w, enum hf_wait_event event,
                               int64_t now_ms, struct hf_channel *channel,
                               int64_t ttl_ms, int64_t cap_ms);

/* hf_wait_cap_ms     - how long a waiter sleeps at most. is_sharded: it listens
 *                      at the node that serves the slot; is_by_ask: its last
 *                      question was sent to another node, by ASK.
 * hf_wait_answered   - the server has answered a question.
 * hf_wait_failed     - a question failed with `status`. True: the line goes on
 *                      waiting, and EVENT_UNANSWERED must follow (WAIT-7).
 * hf_wait_result     - how a wait that gives up ends.
 * hf_wait_asks_again - the lock was granted, and `left_ms` of `lease_ms` are
 *                      left: is it to ask again, since that is too little to be
 *                      of use? `waits`: it may wait; otherwise it asks again
 *                      once. */
int64_t hf_wait_cap_ms(int64_t watchdog_ms, bool is_sharded, bool is_by_ask);
void hf_wait_answered(struct hf_wait_answers *answers);
bool hf_wait_failed(const struct hf_wait *w, struct hf_wait_answers *answers,
                    int64_t now_ms, hf_status status);
hf_status hf_wait_result(const struct hf_wait_answers *answers);
bool hf_wait_asks_again(struct hf_wait *w, bool waits, int64_t now_ms,
                        int64_t left_ms, int64_t lease_ms);

#endif
