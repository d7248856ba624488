/* How a caller waits for a lock, as a pure machine: events and the time go in,
 * what to do next comes out. Private to lock/. The pictures call a live
 * subscription live, and one that the server refused deaf.
 *
 *   QUEUED -due--> ASKING -granted-> DONE <-due, and too late- any but ASKING
 *     |            ^  | ^
 *     |            |  | +-live, deaf, due-- SUBSCRIBING -live, deaf--+
 *     |  woken, due|  | refused, no ear        ^                     |
 *     |            |  +------------------------+                     |
 *     |            |  | refused                |                     |
 *     |            |  v                        | not heard yet       |
 *     +-owes->     SLEEPING <------------------+---------------------+
 *                  (W8, W9: it gives way until due)
 *
 * An unanswered question counts as refused; after the deadline it ends in DONE.
 *
 * W1  Only the first waiter in a lock's line asks the server and sleeps until a
 *     message comes, so one message wakes one waiter. When the first one leaves,
 *     the next one asks: no wake-up is lost with a waiter that gives up.
 * W2  A waiter sleeps only after the server has confirmed the subscription and
 *     was asked once more after that.
 * W3  A message that comes while a question is under way counts: the generation
 *     has changed, so the waiter asks again.
 * W4  A sleep ends when the holder's TTL ends (expiry publishes nothing), at the
 *     deadline, and after cap_ms: a TTL may be shortened without a message, too.
 * W5  Without a live subscription (the server refused it, or has not confirmed
 *     it yet) the waiter asks every WAIT_POLL_MS.
 * W6  After a release by this client the first waiter in line asks, whether the
 *     message of that release comes or not.
 * W7  If the server has answered a line once and is unreachable later, the line
 *     goes on waiting: its first waiter asks again after WAIT_POLL_MS, or when
 *     the subscription is live again.
 * W8  Clients take turns. The reply to a release tells how many other clients
 *     listen; this client owes them so many turns, WAIT_FEW at most. Each message
 *     of another client's release pays one turn; a message when nothing is owed
 *     is credit for the next time. A client that owes turns asks (owed + 1) ms
 *     after the last release that it knows of; a client that owes none asks at
 *     once. So clients have equal shares, however many threads each has and
 *     however fast it is. If no other client listens, nothing is owed. A waiter
 *     that gives way subscribes first, so that other clients give way to it later.
 * W9  A crowd spreads its questions. When more than WAIT_FEW clients listen, a
 *     second message behind that of the release tells how many they are; each
 *     then asks at a random moment within as many milliseconds, WAIT_SPREAD_MS
 *     at most.
 * W10 Giving way ends when a sleep would end (W4), at the latest; later events
 *     only shorten it. A waiter whose turn would come after its deadline asks at
 *     once.
 *
 * Source: WIRE 7. */
#ifndef HF_WAIT_H
#define HF_WAIT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lock/lock.h"

#define WAIT_POLL_MS 1000
/* Listeners that may all ask at once. The scripts contain this number, too. */
#define WAIT_FEW 16
/* On average one client of a crowd asks in each millisecond; in a crowd of more
 * than a thousand, more than one. */
#define WAIT_SPREAD_MS 1000
/* After so many releases in a row for which this client gave way and no other took
 * the lock, it gives way rarely: the listeners do not want the lock (they only
 * watch, or are stopped). */
#define WAIT_UNUSED_MAX 64

enum hf_wait_event {
    WAIT_REFUSED,       /* held by another */
    WAIT_UNANSWERED,    /* the server is away, and may come back */
    WAIT_LIVE,          /* the subscription is confirmed */
    WAIT_DEAF,          /* the server refused it */
    WAIT_WOKEN,         /* a message, or the subscription was lost */
    WAIT_DUE            /* due_ms has come, or it is this waiter's turn (W1, W6).
                           Ignored while ASKING */
};

enum hf_wait_todo {
    WAIT_NOTHING,
    WAIT_ASK,
    WAIT_SUBSCRIBE,
    WAIT_SLEEP,         /* until due_ms */
    WAIT_GIVE_UP        /* the deadline has passed */
};

/* The state of the lock's channel, and whose turn it is. The waiters of a lock
 * share it. */
struct hf_ear {
    bool is_live;
    bool is_refused;
    uint32_t generation;        /* counts messages and losses */
    /* W8 */
    uint32_t others;            /* other listeners at our last release */
    uint32_t owed;              /* turns owed to them: WAIT_FEW at most */
    uint32_t credit;            /* turns that others took and were not owed */
    int64_t turn_ms;            /* when the last release was that we know of */
    uint32_t turns;             /* of others, since our last release */
    uint32_t unused;            /* our releases in a row with other listeners of
                                   which none took a turn */
    uint32_t releases;          /* ours that are under way */
    uint32_t early;             /* messages meanwhile, of ours or of others */
    uint32_t echoes;            /* messages of our releases, still to come */
    /* W9 */
    uint32_t crowd;             /* listeners, if more than WAIT_FEW; else 0 */
    bool is_counted;            /* crowd was told since the last release */
    uint32_t dice;              /* state of the random numbers; not 0 */
};

/* What became of the questions that a line has asked. Its waiters share it. */
struct hf_wait_answers {
    bool has_answered;          /* the server, since the line began (W7) */
    hf_status last_error;       /* why the last question had no answer; HF_OK: it
                                   had one */
};

struct hf_wait {
    enum { WAIT_IS_QUEUED, WAIT_IS_ASKING, WAIT_IS_SUBSCRIBING, WAIT_IS_SLEEPING,
           WAIT_IS_DONE } state;
    int64_t deadline_ms;        /* INT64_MAX: none */
    int64_t due_ms;             /* when to tell WAIT_DUE */
    bool gives_way;             /* W8, W9: it sleeps though the lock may be free */
    uint32_t asked_generation;
    bool asked_live;            /* was the subscription live when it asked? */
    int64_t asked_ms;           /* when: set by its owner, which asks */
    int late_grants;            /* that came too late to be of use */
};

/* hf_wait_init - QUEUED.
 * hf_wait_requeue - QUEUED again, with the same deadline.
 * hf_wait_step - one event. `ttl_ms` counts for WAIT_REFUSED: what is left of
 *                the holder's lease, < 0 if it has none; `cap_ms` is how long to
 *                sleep then. After WAIT_ASK the owner asks and reports
 *                WAIT_REFUSED or WAIT_UNANSWERED, or is done. */
void hf_wait_init(struct hf_wait *w, int64_t deadline_ms);
void hf_wait_requeue(struct hf_wait *w);
enum hf_wait_todo hf_wait_step(struct hf_wait *w, enum hf_wait_event event,
                               int64_t now_ms, struct hf_ear *ear,
                               int64_t ttl_ms, int64_t cap_ms);

/* hf_wait_cap_ms     - how long a waiter sleeps at most. is_sharded: it listens at
 *                      the node that serves the slot; is_by_ask: its last question
 *                      was sent to another node, by ASK.
 * hf_wait_answered   - the server has answered a question.
 * hf_wait_failed     - a question failed with `status`. True: the line goes on
 *                      waiting, and WAIT_UNANSWERED must follow (W7).
 * hf_wait_result     - how a wait that gives up ends.
 * hf_wait_asks_again - the lock was granted, and `left_ms` of `lease_ms` are left:
 *                      is it to ask again, since that is too little to be of use?
 *                      `waits`: it may wait; otherwise it asks again once. */
int64_t hf_wait_cap_ms(int64_t watchdog_ms, bool is_sharded, bool is_by_ask);
void hf_wait_answered(struct hf_wait_answers *answers);
bool hf_wait_failed(const struct hf_wait *w, struct hf_wait_answers *answers,
                    int64_t now_ms, hf_status status);
hf_status hf_wait_result(const struct hf_wait_answers *answers);
bool hf_wait_asks_again(struct hf_wait *w, bool waits, int64_t now_ms,
                        int64_t left_ms, int64_t lease_ms);

/* Events of the lock's channel and of our own releases (W8, W9).
 *
 * hf_ear_heard    - a message came. True: the lock may be free; WAIT_WOKEN must
 *                   follow.
 * hf_ear_lost     - the subscription was lost, and messages with it.
 * hf_ear_releases - a release of ours has begun.
 * hf_ear_released - it has ended, with any result. `heard`: how many listened, we
 *                   included if is_heard_by_us; < 0: unknown. WAIT_DUE must
 *                   follow. */
bool hf_ear_heard(struct hf_ear *ear, int64_t now_ms, const char *ptr,
                  size_t len);
void hf_ear_lost(struct hf_ear *ear);
void hf_ear_releases(struct hf_ear *ear);
void hf_ear_released(struct hf_ear *ear, int64_t now_ms, int64_t heard,
                     bool is_heard_by_us);

#endif
