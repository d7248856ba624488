/* The state of a lock's channel, and whose turn it is to request the lock. A pure machine:
 * its events are notifications and the releases of this client. Private to lock/.
 *
 * TURN-1  Clients take turns. The reply to a release contains the number of other clients
 *         that listen; this client owes them as many turns, at most FEW_LISTENERS_MAX. Each
 *         notification of another client's release pays one turn. A notification when no
 *         turn is owed is credit for the next time. A client that owes turns sends its
 *         request (owed + 1) ms after the last release that it knows of; a client that
 *         owes none sends it at once. So all clients have equal shares, however many
 *         threads each has and however fast it is. If no other client listens, nothing is
 *         owed. A waiter that gives way subscribes first, so that other clients later give
 *         way to it.
 * TURN-2  A crowd spreads its requests. If more than FEW_LISTENERS_MAX clients listen, a release
 *         publishes a second message with their number. Each of them then sends its
 *         request at a random time. A waiter for a lock that several owners may hold chooses
 *         it within as many milliseconds, at most CROWD_SPREAD_MS. A waiter for an exclusive
 *         lock draws a rank below that number, and waits for half of its square, in
 *         milliseconds: about one request is sent in the first millisecond, and within t ms
 *         about sqrt(2 t) requests, however many clients wait, because one of them has
 *         probably acquired the lock. The next release draws anew. A waiter with a high rank
 *         sleeps as long as it would have slept anyway (WAIT-4), and one whose deadline would
 *         come first chooses a time before it.
 *
 * TURN-3  The crowd of TURN-2 and PUSHED-4 are the clients that wait, and not other listeners of
 *         the channel, such as a monitor. A client that learns that more than FEW_LISTENERS_MAX
 *         listen registers: it also subscribes to a second channel (registration.h). A release
 *         counts the registered clients by a message to this channel, and the second message has
 *         their number plus FEW_LISTENERS_MAX; if there are none, or the server refuses that
 *         message, the number of listeners. A client that counted at most FEW_LISTENERS_MAX
 *         listeners since its own subscription (PUSHED-5) is not registered, and sends its next
 *         request without delay: the last of such clients has counted the others, so they are at
 *         most FEW_LISTENERS_MAX.
 *
 * PUSHED-1  A push (track.h, TRACK-8) permits one request of the first waiter. Pushes that
 *         come before that request are merged, and a request that is sent for another reason
 *         also answers them.
 * PUSHED-2  If that request is refused, PUSH_PAUSE_MS passes before a push permits the next
 *         one. While pushes follow each other and no such request is granted, the pause
 *         doubles, up to PUSH_PAUSE_MAX_MS. A random time of at most a half of it is added, so
 *         that clients that were refused together do not send the next request together. The
 *         pause delays nothing else.
 * PUSHED-3  A push does not overtake: it permits no request before this client's turn (TURN-1).
 *         It comes before the notification of the same release; if both are read at once, the
 *         notification decides.
 * PUSHED-4  If more than FEW_LISTENERS_MAX clients listen, about FEW_LISTENERS_MAX of those that
 *         wait for an exclusive lock are tracked: each has a lot, drawn when it began to listen,
 *         and the number of listeners decides whether the lot is low enough. The others sleep as
 *         without tracking; one of the tracked ones acquires a lock that is free. A push
 *         permits their requests at a random time within FEW_LISTENERS_MAX ms. All that wait for a
 *         lock that several owners may hold, for a semaphore or for a latch are tracked, and
 *         the time is within as many milliseconds as clients listen, at most CROWD_SPREAD_MS.
 * PUSHED-5  A waiter requests the number of listeners with an acquire (listeners.h), if
 *         LISTENERS_RECOUNT_MS have passed since the last count, or since a release that had few
 *         listeners. A waiter that is tracked also does so when it has registered; one that is
 *         not tracked no longer counts then. If the server does not permit or know that request,
 *         all are tracked, and this client repeats it, for any lock, after LISTENERS_DENIED_MS.
 *         Another error (BUSY) says nothing about the number: the last one remains valid, and an
 *         acquire repeats the request after LISTENERS_RETRY_MS.
 *
 * Source: WIRE 7. */
#ifndef HF_CHANNEL_H
#define HF_CHANNEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The number of listeners that may all send a request at once. The scripts also contain
 * this number. */
#define FEW_LISTENERS_MAX 16
/* On average one client of a crowd sends a request in each millisecond; in a crowd of more
 * than a thousand, more than one. */
#define CROWD_SPREAD_MS 1000
/* The number of consecutive releases after which this client gave way and no other client
 * took the lock. Then the listeners do not want it (they only watch, or are stopped), and
 * this client gives way rarely. */
#define TURNS_UNUSED_MAX 64
/* PUSHED-5 */
#define LISTENERS_RECOUNT_MS 3000
#define LISTENERS_DENIED_MS 60000
#define LISTENERS_RETRY_MS 1000
/* PUSHED-2; the same times as for holds (switch.c). */
#define PUSH_PAUSE_MS 100
#define PUSH_PAUSE_MAX_MS 3200

/* The waiters of a lock share one channel. */
struct hf_channel {
    bool is_live;               /* the server confirmed the subscription */
    bool is_refused;            /* the server refused it */
    bool is_crowd_counted;      /* `crowd_listeners` was set since the last release */
    uint32_t wake_events;       /* counts notifications and losses of the subscription */
    /* TURN-1 */
    uint32_t other_listeners;    /* other listeners at the last release of this client */
    uint32_t turns_owed;         /* turns owed to them, at most FEW_LISTENERS_MAX */
    uint32_t unowed_turns_taken; /* turns that others took without being owed */
    uint32_t turns_of_others;    /* turns of others since the last release of this client */
    int64_t last_release_ms;     /* time of the last release that is known */
    uint32_t unused_turns;       /* consecutive releases of this client, with other listeners, after
                                    which none of them took a turn */
    uint32_t pending_releases;   /* releases of this client that have no reply yet */
    uint32_t early_notifications; /* notifications since then, of any release */
    uint32_t own_notifications_expected; /* notifications of this client's releases that have not
                                            arrived yet */
    /* TURN-2 */
    uint32_t crowd_listeners;   /* listeners, if more than FEW_LISTENERS_MAX; otherwise 0 */
    uint32_t random_state;      /* state of the random numbers; not 0 */
    /* TURN-3 */
    bool is_registered;             /* the server confirmed the second subscription */
    bool has_counted_few_listeners; /* at most FEW_LISTENERS_MAX listened when this client, which
                                       was subscribed, counted them */
    bool has_more_than_few_listeners; /* more than FEW_LISTENERS_MAX listened when their number was
                                         learned last */
    /* PUSHED-1, PUSHED-2 */
    bool has_unused_push;          /* a push came, and no request was sent since */
    int64_t push_request_from_ms;  /* when that push permits a request */
    int64_t push_ignored_until_ms; /* no push permits a request before */
    int64_t push_pause_ms;         /* after the last request that a push caused in vain */
    bool was_push_request_delayed; /* that request had to wait for the end of a pause */
    /* PUSHED-4, PUSHED-5 */
    uint32_t lottery_number;
    uint32_t waiting_listeners;      /* that wait, when their number was learned last; 0: unknown */
    int64_t listeners_count_from_ms; /* no count before */
};

/* hf_channel_notified - processes a notification. True: the lock may be free, and EVENT_WOKEN
 *   must follow. False: it was the second message of TURN-2. */
bool hf_channel_notified(struct hf_channel *channel, int64_t now_ms,
                         const char *ptr, size_t len);

/* hf_channel_lost - the subscription was lost, and perhaps notifications with it. */
void hf_channel_lost(struct hf_channel *channel);

/* hf_channel_own_release_begins - a release of this client begins. */
void hf_channel_own_release_begins(struct hf_channel *channel);

/* hf_channel_own_release_ended - that release has ended, with any result. EVENT_DUE must follow.
 *   heard            the number of subscribers that received its notification; < 0:
 *                    unknown
 *   is_heard_by_us   this client is one of them */
void hf_channel_own_release_ended(struct hf_channel *channel, int64_t now_ms,
                                  int64_t heard, bool is_heard_by_us);

/* hf_channel_pushed - a push: the key was changed by another client. EVENT_PUSHED must
 *   follow.
 *   is_shared    the first waiter's kind is shared (PUSHED-4) */
void hf_channel_pushed(struct hf_channel *channel, int64_t now_ms, bool is_shared);

/* hf_channel_tracks_acquires - returns whether the acquires of this client are tracked
 *   (PUSHED-4). */
bool hf_channel_tracks_acquires(const struct hf_channel *channel, bool is_shared);

/* hf_channel_use_push - returns whether a push permits a request now, which must follow. Each
 *   request ends has_unused_push.
 * hf_channel_push_failed - that request was refused: PUSHED-2. */
bool hf_channel_use_push(struct hf_channel *channel, int64_t now_ms);
void hf_channel_push_failed(struct hf_channel *channel, int64_t now_ms);

/* hf_channel_registered - the subscription to the second channel was confirmed, or lost. If it was
 *   confirmed, a count is due. */
void hf_channel_registered(struct hf_channel *channel, bool is_registered);

/* hf_channel_must_count_listeners  - returns whether the listeners must be counted now
 *   (PUSHED-5). One of the next two must follow, unless the request has no reply.
 * hf_channel_listeners_counted     - the server replied with their number.
 * hf_channel_listeners_not_counted - the server replied with an error.
 *   all          listeners of the channel
 *   registered   those of the second channel; ignored unless this client is one
 *   is_denied    the request is not permitted, or not known */
bool hf_channel_must_count_listeners(const struct hf_channel *channel, int64_t now_ms);
void hf_channel_listeners_counted(struct hf_channel *channel, int64_t now_ms, int64_t all,
                                  int64_t registered);
void hf_channel_listeners_not_counted(struct hf_channel *channel, int64_t now_ms, bool is_denied);

/* hf_channel_turn_ms - returns the time at which it is this client's turn; a time that is
 *   not after now_ms means: now. */
int64_t hf_channel_turn_ms(const struct hf_channel *channel, int64_t now_ms);

/* hf_channel_crowd_ms - returns the random time at which this client of a crowd sends its
 *   request (TURN-2).
 *   is_shared    several owners may hold the lock
 *   end_ms       the deadline of its call, after now_ms */
int64_t hf_channel_crowd_ms(struct hf_channel *channel, int64_t now_ms, bool is_shared,
                            int64_t end_ms);

#endif
