/* The state of a lock's channel, and whose turn it is: a pure machine, told of
 * messages and of our own releases. Private to lock/.
 *
 * TURN-1  Clients take turns. The reply to a release tells how many other
 *         clients listen; this client owes them so many turns, WAIT_FEW at
 *         most. Each message of another client's release pays one turn; a
 *         message when nothing is owed is credit for the next time. A client
 *         that owes turns asks (owed + 1) ms after the last release that it
 *         knows of; a client that owes none asks at once. So clients have equal
 *         shares, however many threads each has and however fast it is. If no
 *         other client listens, nothing is owed. A waiter that gives way
 *         subscribes first, so that other clients give way to it later.
 * TURN-2  A crowd spreads its questions. When more than WAIT_FEW clients
 *         listen, a second message behind that of the release tells how many
 *         they are; each then asks at a random moment within as many
 *         milliseconds, WAIT_SPREAD_MS at most.
 *
 * Source: WIRE 7. */
#ifndef HF_CHANNEL_H
#define HF_CHANNEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Listeners that may all ask at once. The scripts contain this number, too. */
#define WAIT_FEW 16
/* On average one client of a crowd asks in each millisecond; in a crowd of more
 * than a thousand, more than one. */
#define WAIT_SPREAD_MS 1000
/* After so many releases in a row for which this client gave way and no other
 * took the lock, it gives way rarely: the listeners do not want the lock (they
 * only watch, or are stopped). */
#define WAIT_UNUSED_MAX 64

/* The state of the lock's channel, and whose turn it is. The waiters of a lock
 * share it. */
struct hf_channel {
    bool is_live;
    bool is_refused;
    bool is_counted;            /* crowd was told since our last release */
    uint32_t generation;        /* counts messages and losses */
    /* TURN-1 */
    uint32_t others;            /* other listeners at our last release */
    uint32_t owed;              /* turns owed to them: WAIT_FEW at most */
    uint32_t credit;            /* turns that others took and were not owed */
    uint32_t turns;             /* of others, since our last release */
    int64_t turn_ms;            /* when the last release was that we know of */
    uint32_t unused;            /* our releases in a row with other listeners of
                                   which none took a turn */
    uint32_t releases;          /* ours that are under way */
    uint32_t early;             /* messages meanwhile, of any release */
    uint32_t echoes;            /* messages of our releases, still to come */
    /* TURN-2 */
    uint32_t crowd;             /* listeners, if more than WAIT_FEW; else 0 */
    uint32_t dice;              /* state of the random numbers; not 0 */
};

/* Events of the lock's channel and of our own releases (TURN-1, TURN-2).
 *
 * hf_channel_heard    - a message came. True: the lock may be free; EVENT_WOKEN
 *                       must follow.
 * hf_channel_lost     - the subscription was lost, and messages with it.
 * hf_channel_releases - a release of ours has begun.
 * hf_channel_released - it has ended, with any result. `heard`: how many
 *                       listened, we included if is_heard_by_us; < 0: unknown.
 *                       EVENT_DUE must follow. */
bool hf_channel_heard(struct hf_channel *channel, int64_t now_ms,
                      const char *ptr, size_t len);
void hf_channel_lost(struct hf_channel *channel);
void hf_channel_releases(struct hf_channel *channel);
void hf_channel_released(struct hf_channel *channel, int64_t now_ms,
                         int64_t heard, bool is_heard_by_us);

/* hf_channel_turn_ms   - when it is our turn to ask; not after now_ms: at once.
 * hf_channel_crowd_ms  - the random moment at which this client of a crowd
 *                        asks. */
int64_t hf_channel_turn_ms(const struct hf_channel *channel, int64_t now_ms);
int64_t hf_channel_crowd_ms(struct hf_channel *channel, int64_t now_ms);

#endif
