/* How one call waits for a lock, as a pure machine: it receives events and the time, and
 * returns the next action. Private to lock/.
 *
 *   QUEUED       -start_request-> REQUESTING           it is the first waiter
 *                -wait_for_own_turn-> SUBSCRIBING, SLEEPING    this client owes turns (TURN-1)
 *   REQUESTING   -hf_wait_end-> DONE                   granted, or the call has ended
 *                -handle_refusal-> SUBSCRIBING, SLEEPING       held
 *                -handle_refusal, start_request-> REQUESTING   WAIT-2, WAIT-3
 *                -handle_no_reply-> as after a refusal; DONE after the deadline
 *   SUBSCRIBING  -handle_subscription_result-> REQUESTING      confirmed, refused
 *                -handle_subscription_result, wait_for_own_turn-> SLEEPING    it gives way
 *                -handle_due-> REQUESTING; DONE after the deadline
 *   SLEEPING     -handle_wake, handle_due-> REQUESTING; DONE after the deadline
 *                -handle_wake, wait_for_own_turn-> SLEEPING    TURN-1, TURN-2
 *                -handle_push-> SLEEPING               due earlier (WAIT-10)
 *   any          -hf_wait_requeue-> QUEUED
 *
 * What is true in each state (wait_ok):
 * QUEUED, REQUESTING  gives_way is false
 * SUBSCRIBING         it is not a waiter of a spin lock
 * SLEEPING            it is due at its deadline at the latest
 *
 * Terms. REQUESTING: an acquire was sent and has no reply yet. held: the reply says that
 * another owner holds the lock. confirmed, refused: the server's reply to SUBSCRIBE. To
 * give way: to sleep although the lock may be free, because it is another client's turn
 * (channel.h). An acquire that ends without a reply counts as held; after the deadline it
 * ends in DONE.
 *
 * WAIT-1  Only the first waiter of a lock's queue sends requests, and sleeps until a
 *         notification arrives. So one notification wakes one waiter. When the first
 *         waiter leaves, the next one sends a request: no notification is lost with a
 *         waiter that stops waiting.
 * WAIT-2  A waiter sleeps only if it has sent a request after the server confirmed the
 *         subscription.
 * WAIT-3  A notification that arrives during a request counts: the generation has
 *         changed, so the waiter sends another request.
 * WAIT-4  A sleep ends when the holder's TTL ends (expiry publishes nothing), at the
 *         deadline, and after cap_ms, because a TTL may be shortened without a
 *         notification.
 * WAIT-5  Without a live subscription (the server refused it, or has not confirmed it)
 *         the waiter sends a request every WAIT_POLL_MS.
 * WAIT-6  After a release by this client, the first waiter sends a request, whether or not
 *         the notification of that release arrives.
 * WAIT-7  After the server has replied once to a queue, the queue continues to wait while
 *         the server is unreachable or refuses temporarily (PATIENCE-2): its first waiter
 *         sends its request again after WAIT_POLL_MS, or when the subscription is live
 *         again.
 * WAIT-8  A waiter gives way no longer than it would sleep (WAIT-4). Later events can only
 *         shorten that time, except that in a crowd each notification about an exclusive lock
 *         chooses it anew (TURN-2). A waiter whose turn comes after its deadline sends its
 *         request at once.
 * WAIT-9  A waiter of a spin lock does not subscribe, because the release of such a lock
 *         may publish nothing. It sleeps for WAIT_SPIN_FIRST_MS, then each time twice as
 *         long, at most WAIT_SPIN_MAX_MS. Notifications that its queue receives for
 *         waiters of another kind also wake it.
 * WAIT-10 A push (channel.h, PUSHED-1) ends a sleep when it permits a request, at once or
 *         later. A push that arrives during a request counts: a waiter that is refused does
 *         not sleep longer than that. A waiter that subscribes or gives way does not sleep
 *         for longer than it would without pushes, and its next request answers them. In a
 *         crowd, a notification about an exclusive lock also answers them.
 *
 * Source: WIRE 7, 9.2. */
#ifndef HF_WAIT_H
#define HF_WAIT_H

#include <stdbool.h>
#include <stdint.h>

#include "lock/lock.h"
#include "lock/machine/channel.h"

#define WAIT_POLL_MS 1000       /* WAIT-5, WAIT-7: rare enough for a busy server */
#define WAIT_SPIN_FIRST_MS 1    /* these two as Redisson's defaults: WIRE 9.2 */
#define WAIT_SPIN_MAX_MS 128

enum hf_wait_event {
    EVENT_REFUSED,              /* the reply: another owner holds the lock */
    EVENT_UNANSWERED,           /* no reply, or a temporary refusal (WAIT-7) */
    EVENT_SUBSCRIBED,           /* the server confirmed the subscription */
    EVENT_NOT_SUBSCRIBED,       /* the server refused the subscription */
    EVENT_WOKEN,                /* a notification, or the subscription was lost */
    EVENT_DUE,                  /* due_ms has come, or it is this waiter's turn
                                   (WAIT-1, WAIT-6). Ignored while REQUESTING */
    EVENT_PUSHED                /* hf_channel_pushed */
};

enum hf_wait_todo {
    DO_NOTHING,
    DO_REQUEST,                 /* send the acquire */
    DO_SUBSCRIBE,               /* subscribe, and sleep until due_ms */
    DO_SLEEP,                   /* until due_ms */
    DO_GIVE_UP                  /* end the call: the deadline has passed */
};

enum hf_wait_state {
    WAIT_QUEUED,
    WAIT_REQUESTING,
    WAIT_SUBSCRIBING,
    WAIT_SLEEPING,
    WAIT_DONE
};

/* Why a waiter sends another request. */
enum hf_wake {
    WAKE_NONE,                  /* it is the first request of the call */
    WAKE_NOTIFICATION,          /* a release was published, or the subscription was lost */
    WAKE_PUSH,                  /* WAIT-10 */
    WAKE_TIMER,                 /* the holder's TTL ended, or WAIT-4, WAIT-5, WAIT-7, WAIT-9 */
    WAKE_TURN,                  /* it gave way until now, or this client has released the lock */
    WAKE_SUBSCRIPTION,          /* the subscription was confirmed or refused (WAIT-2) */
    WAKE_COUNT
};

/* The outcome of the requests of a queue. Its waiters share it. */
struct hf_wait_answers {
    bool has_answered;          /* the server replied since the queue began (WAIT-7) */
    hf_status last_error;       /* why the last request had no reply; HF_OK: it had
                                   one */
};

struct hf_wait {
    enum hf_wait_state state;
    int64_t deadline_ms;              /* INT64_MAX: none */
    int64_t due_ms;                   /* when EVENT_DUE must follow */
    int64_t next_spin_sleep_ms;       /* the next sleep (WAIT-9); 0: it subscribes */
    int64_t sleep_until_ms;           /* when the sleep after the last reply ends (WAIT-4); 0:
                                         none */
    bool may_have_several_holders;    /* several owners may hold the lock (TURN-2) */
    bool gives_way;                   /* TURN-1, TURN-2 */
    uint32_t wake_events_when_sent;   /* channel->wake_events when the request was sent */
    bool was_live_when_sent;          /* the subscription was live at that time */
    bool was_request_caused_by_push;  /* a push caused the pending request */
    bool has_notification_to_process; /* a notification is processed when its timer fires, now */
    enum hf_wake wake_cause;          /* why the last request was sent */
    int64_t last_request_ms;          /* that time; set by the code that sends the request */
    int late_grants;                  /* grants of this call that came too late to be used */
};

/* hf_wait_init - begins a wait in the state QUEUED. */
void hf_wait_init(struct hf_wait *w, int64_t deadline_ms);

/* hf_wait_make_spin, hf_wait_make_shared - make it the wait for a spin lock (WAIT-9), and for a
 *   lock that several owners may hold (TURN-2). Call them after hf_wait_init. */
void hf_wait_make_spin(struct hf_wait *w);
void hf_wait_make_shared(struct hf_wait *w);

/* hf_wait_requeue - returns to the state QUEUED, with the same deadline. */
void hf_wait_requeue(struct hf_wait *w);

/* hf_wait_defer_wake - a notification came, and the number of waiting clients may follow in the
 *   same read (TURN-2). Returns whether EVENT_DUE, for which the caller arms the timer now,
 *   processes the notification; otherwise the caller reports EVENT_WOKEN. Pushes do not delay
 *   it. */
bool hf_wait_defer_wake(struct hf_wait *w);

/* hf_wait_end - the call has ended: DONE. */
void hf_wait_end(struct hf_wait *w);

/* hf_wait_step - processes one event and returns the next action. After DO_REQUEST, the caller
 *   sends the acquire and reports EVENT_REFUSED or EVENT_UNANSWERED, or calls hf_wait_end.
 *   ttl_ms   used with EVENT_REFUSED: the remaining lease of the holder; < 0: no TTL
 *   cap_ms   used with EVENT_REFUSED: the longest sleep (hf_wait_max_sleep_ms) */
enum hf_wait_todo hf_wait_step(struct hf_wait *w, enum hf_wait_event event,
                               int64_t now_ms, struct hf_channel *channel,
                               int64_t ttl_ms, int64_t cap_ms);

/* hf_wait_sleeps_if_refused - returns whether a refused request would be followed by a sleep that
 *   no subscription precedes: it is confirmed or refused, or the waiter polls (WAIT-9). */
bool hf_wait_sleeps_if_refused(const struct hf_wait *w, const struct hf_channel *channel);

/* hf_wait_max_sleep_ms - returns the longest sleep of a waiter, in ms.
 *   is_sharded   the subscription is at the node that serves the slot
 *   is_by_ask    the last request was redirected to another node by ASK */
int64_t hf_wait_max_sleep_ms(int64_t watchdog_ms, bool is_sharded, bool is_by_ask);

/* hf_wait_answered - records that the server replied to a request of the queue. */
void hf_wait_answered(struct hf_wait_answers *answers);

/* hf_wait_failed - records that a request failed with `status`. It returns true if the
 *   queue continues to wait (WAIT-7); then EVENT_UNANSWERED must follow. */
bool hf_wait_failed(const struct hf_wait *w, struct hf_wait_answers *answers,
                    int64_t now_ms, hf_status status);

/* hf_wait_result - returns the status of a wait that ends at its deadline: the error of the
 *   last request, or HF_TIMEOUT. */
hf_status hf_wait_result(const struct hf_wait_answers *answers);

/* hf_wait_retries_grant - decides about a grant of `lease_ms` that has `left_ms` left. It
 *   returns true if that is too little to be used and the lock must be requested again:
 *   once, or several times if `waits` (the call may wait) and the deadline is not reached. */
bool hf_wait_retries_grant(struct hf_wait *w, bool waits, int64_t now_ms,
                           int64_t left_ms, int64_t lease_ms);

#endif
