/* How a caller waits for a lock, as a pure machine: it is told events and the
 * time, and says what to do next. Private to lock/.
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
 * W8  Turns are paid back. A release tells how many others heard it; so many
 *     turns are owed. Each message of another release pays one; what was taken
 *     beyond is credit for the next time. Who owes asks (owed + 1) ms after the
 *     last release that it knows of, who owes nothing asks at once. So processes
 *     take turns, however many threads each has and however fast it is; where
 *     nobody else listens, nothing is owed. Who gives way subscribes first, so
 *     that others give way to it in their turn.
 * W9  A crowd spreads its questions. More than WAIT_FEW listeners are told, by
 *     a message behind that of the release, how many they are; each then asks
 *     at a random moment within as many milliseconds, SPREAD_MS at most.
 * W10 Giving way never outlasts W4, and is never drawn out: what comes meanwhile
 *     only shortens it. Who would give way beyond its deadline asks at once.
 *
 * Source: WIRE 7. */
#ifndef HF_WAIT_H
#define HF_WAIT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define WAIT_POLL_MS 1000
/* Listeners that may all ask at once. The number stands in the scripts, too. */
#define WAIT_FEW 16
/* A free lock of a crowd is asked for once in a millisecond, on average; in a
 * crowd of more than a thousand, more often. */
#define WAIT_SPREAD_MS 1000
/* Starts of which nobody made use, in a row, until they are given rarely: then
 * those who listen do not want the lock (they only watch, or are stopped). */
#define WAIT_UNUSED_MAX 64

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
    /* W8 */
    uint32_t others;            /* who heard our last release */
    uint32_t owed;              /* turns, to them: WAIT_FEW at most */
    uint32_t credit;            /* turns that others took and were not owed */
    int64_t turn_ms;            /* the last release that we know of */
    uint32_t turns;             /* of others, since our last release */
    uint32_t unused;            /* our releases in a row with others listening,
                                   and no turn of theirs */
    uint32_t releases;          /* of ours, under way */
    uint32_t early;             /* messages heard meanwhile: ours, or not */
    uint32_t echoes;            /* messages of our releases, yet to be heard */
    /* W9 */
    uint32_t crowd;             /* listeners, if more than WAIT_FEW; else 0 */
    bool is_counted;            /* since the last message of a release */
    uint32_t dice;              /* not 0 */
};

struct hf_wait {
    enum { WAIT_IS_QUEUED, WAIT_IS_ASKING, WAIT_IS_SUBSCRIBING, WAIT_IS_SLEEPING,
           WAIT_IS_DONE } state;
    int64_t deadline_ms;        /* INT64_MAX: none */
    int64_t due_ms;             /* when to tell WAIT_DUE */
    bool gives_way;             /* W8, W9: asleep, though it may be free */
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
                               int64_t now_ms, struct hf_ear *ear,
                               int64_t ttl_ms, int64_t cap_ms);

/* What the lock's channel and our own releases say (W8, W9).
 *
 * hf_ear_heard    - a message. True: the lock may be free, tell WAIT_WOKEN.
 * hf_ear_lost     - no more messages of those that are under way.
 * hf_ear_releases - a release of ours has begun; it ends by
 * hf_ear_released - whatever came of it. `heard`: how many listened, we among
 *                   them or not; < 0: nobody knows. Tell WAIT_DUE. */
bool hf_ear_heard(struct hf_ear *ear, int64_t now_ms, const char *ptr,
                  size_t len);
void hf_ear_lost(struct hf_ear *ear);
void hf_ear_releases(struct hf_ear *ear);
void hf_ear_released(struct hf_ear *ear, int64_t now_ms, int64_t heard,
                     bool is_heard_by_us);

#endif
