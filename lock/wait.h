/* How a caller waits for a lock, as a pure machine: it is told events and the
 * time, and says what to do next. Private to lock/.
 *
 *   QUEUED -due--> ASKING -granted-> DONE <-due, and too late- any but ASKING
 *                  ^  | ^
 *                  |  | +-live, deaf, due-- SUBSCRIBING
 *        woken, due|  | refused, no ear        ^
 *                  |  +------------------------+
 *                  |  | refused
 *                  |  v
 *                  SLEEPING
 *
 * Unanswered leads where refused does; or, if it is too late, to DONE.
 *
 * W1  Only the first in the line of one lock asks, and only it sleeps on
 *     messages: one message wakes one. When it goes, the next one asks, so a
 *     wake-up is never lost with a waiter that gives up.
 * W2  Nobody sleeps before the server has confirmed the subscription and was
 *     asked once more behind it.
 * W3  A message that comes while the question is under way counts: the
 *     generation has moved, so the question is asked again.
 * W4  Sleep ends with the holder's TTL at the latest (expiry is silent), with
 *     the deadline, and after cap_ms: a TTL may be shortened silently, too.
 * W5  Without messages (the server refuses SUBSCRIBE, or it has not confirmed
 *     it yet) it looks every POLL_MS.
 * W6  A release by this client is told to the first in the line as its turn,
 *     whether its message comes or not.
 * W7  A line that the server has answered once goes on when it is away: its
 *     first asks again after POLL_MS, or when the subscription has come back.
 *
 * Source: WIRE 7. */
#ifndef HF_WAIT_H
#define HF_WAIT_H

#include <stdbool.h>
#include <stdint.h>

#define WAIT_POLL_MS 1000

enum hf_wait_event {
    WAIT_REFUSED,       /* held by another */
    WAIT_UNANSWERED,    /* the server is away, and may come back */
    WAIT_LIVE,          /* the subscription is confirmed */
    WAIT_DEAF,          /* the server refused it */
    WAIT_WOKEN,         /* a message, or the subscription was lost */
    WAIT_DUE            /* due_ms has come; its turn (W1, W6). Of these only W6
                           may come while it asks, and then means nothing */
};

enum hf_wait_todo {
    WAIT_NOTHING,
    WAIT_ASK,
    WAIT_SUBSCRIBE,
    WAIT_SLEEP,         /* until due_ms */
    WAIT_GIVE_UP        /* the deadline has passed */
};

/* What the lock's waiters share. */
struct hf_ear {
    bool is_live;
    bool is_refused;
    uint32_t generation;        /* counts messages and losses */
};

struct hf_wait {
    enum { WAIT_IS_QUEUED, WAIT_IS_ASKING, WAIT_IS_SUBSCRIBING, WAIT_IS_SLEEPING,
           WAIT_IS_DONE } state;
    int64_t deadline_ms;        /* INT64_MAX: none */
    int64_t due_ms;             /* when to tell WAIT_DUE */
    uint32_t asked_generation;
    bool asked_live;            /* was the ear live when it asked? */
};

/* hf_wait_init - QUEUED.
 * hf_wait_step - one event. `ttl_ms` counts for WAIT_REFUSED: what is left of
 *                the holder's lease, < 0 if it has none; `cap_ms` is how long to
 *                sleep then. After WAIT_ASK the owner asks and reports
 *                WAIT_REFUSED or WAIT_UNANSWERED, or is done. */
void hf_wait_init(struct hf_wait *w, int64_t deadline_ms);
enum hf_wait_todo hf_wait_step(struct hf_wait *w, enum hf_wait_event event,
                               int64_t now_ms, const struct hf_ear *ear,
                               int64_t ttl_ms, int64_t cap_ms);

#endif
