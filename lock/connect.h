/* The client: what connects a program with its servers. A part of lock.h.
 *
 * Callbacks (on_lost, on_renewed, on_wait, done, log) run on the loop's
 * background thread, and in hf_loop_dispatch, on the thread that calls it. No
 * other function runs them, not even one that waits for its own answer: a mutex
 * that is held across a blocking call may be taken in a callback, and a slow
 * callback delays no call. On a loop without a background thread they therefore
 * wait until hf_loop_dispatch is called; a blocking call leaves them alone, and
 * wakes the thread that dispatches or the event loop that watches hf_loop_fd.
 * hf_client_close and hf_client_free wait until all have been called, or call
 * them themselves if there is no background thread.
 *     They run one at a time, losses before all others. No lock is held:
 * a callback may call every function here, also those that block, but not those
 * that free or close. It should return soon. While it runs, no other callback
 * runs, and holds are renewed only if a blocked caller or another thread drives
 * the loop: a callback that takes longer than a third of the watchdog's timeout
 * may cost holds.
 *     A callback may fork. In the child no other callback runs. If the callback
 * returns in the child, hf_loop_dispatch and other calls return; a copy of the
 * background thread ends, and the child with it unless it has other threads.
 * The child's thread blocks the same signals as the thread that made the loop.
 * The background thread blocks all signals, and a program that posix_spawn() or
 * system() starts from a callback on it inherits that. */
#ifndef HF_CONNECT_H
#define HF_CONNECT_H

#include <stdbool.h>

#include "net/net.h"

#ifdef __cplusplus
extern "C" {
#endif

/* One client is one Redisson "instance": one UUID, one watchdog, and to each
 * server one connection (two in RESP2, one more with replicas). Threads share
 * it. */
struct hf_client;

enum hf_log_level { HF_LOG_ERROR, HF_LOG_WARNING, HF_LOG_INFO };

/* The least token_retention_ms: far longer than a question is repeated, and than
 * the clocks of servers differ. */
#define HF_TOKEN_RETENTION_LEAST_MS INT64_C(60000)

/* What a URL can say, too (user, password, name, protocol, TLS, timeouts), is
 * taken from here if it is given here, that is, not NULL and not 0; else from
 * the URL; else it is the default. */
struct hf_client_options {
    const char *url;            /* NULL: redis://127.0.0.1:6379. What it may
                                   say: net/net.h, "servers" */
    const char *user;
    const char *password;
    const char *name;           /* CLIENT SETNAME; default "holdfast" */
    int protocol;               /* 3 (falls back to RESP2) or 2. Default 3 */
    const struct hf_tls_options *tls;   /* each piece for itself; only for a URL
                                           of TLS */

    struct hf_loop *loop;       /* NULL: one of its own. Borrowed until
                                   hf_client_free */
    bool thread;                /* its own loop is driven by a background thread
                                   too. Default true. Without, the callbacks
                                   need hf_loop_dispatch, and so does the
                                   watchdog while no call blocks */
    const struct hf_mem *mem;   /* NULL: libc. Borrowed until hf_client_free;
                                   not used if `loop` is given (its own is) */

    int64_t connect_timeout_ms; /* default 5000 */
    int64_t request_timeout_ms; /* how long one step may go unanswered, its
                                   repetitions included. Of a URL: timeout.
                                   Default 5000 */
    int64_t watchdog_ms;        /* TTL of a hold taken without a lease; renewed
                                   each third. Default 30000, least 100 */
    int replicas;               /* how many replicas must have a lock before it
                                   counts as acquired, and each change of a
                                   semaphore's or latch's count: a number,
                                   HF_REPLICAS_ALL or _MAJORITY (net.h). URL: replicas.
                                   Default 0 */
    int64_t replicas_timeout_ms;/* how long they have. Of a URL:
                                   replicas_timeout. Default 1000; at most a
                                   sixth of the watchdog's time */
    int64_t token_retention_ms; /* so long after the last grant with a token the
                                   counter of a lock ends: docs/fencing.md. 0
                                   (default): never; else at least
                                   HF_TOKEN_RETENTION_LEAST_MS */
    uint32_t locks_max;         /* different names in use. Default 1 Mi */
    uint32_t waiters_max;       /* calls under way, `done` included. Default
                                   1 Mi */
    size_t output_max;          /* bytes that wait to be sent. While there is no
                                   room, calls wait for it, first come first
                                   served. Default 64 MiB, least 192 KiB. A value
                                   below the longest command of any kind (some
                                   400 KiB) is raised to it */

    /* A line about what no call reports (a lost connection, a renewal refused),
     * and no callback: a hold without on_lost was lost.
     * As any callback. No more than 256 lines wait for it; the last of them is
     * followed by one that counts those that were left out. NULL: silence. */
    void (*log)(void *ctx, enum hf_log_level level, const char *line);
    void *log_ctx;

    /* Every command and what became of it, of both connections, without
     * passwords; hf_trace_text makes a line of it. Called with the loop's lock
     * held: it may call that and hf_resp_*, and nothing else of ours. NULL:
     * nobody looks. */
    void (*trace)(void *ctx, const struct hf_trace *trace);
    void *trace_ctx;

    bool connect_once;          /* hf_client_connect tries once. Default false:
                                   it tries again until the connect timeout, for
                                   a server that is starting */
};

/* hf_client_options_init - every default, before you set what shall differ. */
HF_API void hf_client_options_init(struct hf_client_options *options);

/* hf_client_new     - does no I/O: the connection is made when it is needed.
 *                     options: copied, text included. HF_E_INVAL (the URL),
 *                     HF_E_TLS (its files), HF_E_NOMEM, HF_E_SYSTEM,
 *                     HF_E_FORKED (the loop is the parent's).
 * hf_client_connect - waits until the server is ready, at most the connect
 *                     timeout. With connect_once, it ends when one attempt has
 *                     failed at every address of the server; of a cluster or of
 *                     sentinels, at every one that is known. For an error
 *                     before the first lock needs it; with replicas, also if
 *                     WAIT is not allowed. In a cluster that is its map, and
 *                     the master of slot 0: hf_lock_connect asks for a lock's
 *                     own.
 *                     HF_E_CONNECT, HF_E_TLS, HF_E_AUTH, HF_E_PROTOCOL,
 *                     HF_E_SERVER, HF_E_NOREPLY, HF_E_LIMIT, HF_E_NOMEM,
 *                     HF_E_FORKED, HF_E_CLOSED.
 * hf_lock_connect   - likewise, until the server of the lock's slot is.
 * hf_client_close   - see below: gives what is under way time to end.
 * hf_client_free    - calls under way end with HF_E_CLOSED; each hold's on_lost
 *                     is called with HF_LOST_CLOSED. Nothing is released on the
 *                     server: what is held ends with its TTL. Takes NULL. No
 *                     other call may be in progress or follow; not from a
 *                     callback. Its hf_locks are freed with it. In a forked
 *                     child it does nothing: all is the parent's. */
HF_API hf_status hf_client_new(struct hf_client **out,
                               const struct hf_client_options *options,
                               struct hf_error *err) HF_MUST_CHECK;
HF_API hf_status hf_client_connect(struct hf_client *client,
                                   struct hf_error *err);
struct hf_lock;
HF_API hf_status hf_lock_connect(struct hf_lock *lock, struct hf_error *err);
HF_API void hf_client_free(struct hf_client *client);

/* hf_client_close - lets a client run dry: to be called before hf_client_free
 *   where what is under way should not be cut off. From now on new calls end
 *   with HF_E_CLOSED, those of waiting for a lock that another holds, too, at
 *   once. What has been asked, and what is to be released, also in the
 *   background, has `timeout_ms` (0: none) to be answered; then it is cancelled
 *   with HF_E_CLOSED. A lock that is granted meanwhile, to a caller that could
 *   not release it any more, is given back. What is held stays held, and is
 *   renewed, until hf_client_free. Before it returns, `done` and the other
 *   callbacks of what has ended have been called. (hf_client_connect in
 *   another thread ends by its own timeout.)
 *   out         NULL, or filled in with what became of it all
 * Returns HF_OK         nothing was left at the deadline
 *         HF_E_NOREPLY  something was, and the server may have done it
 *         HF_E_CONNECT  something was, and none of it had been sent
 *         HF_E_CLOSED   it was called before
 *         HF_E_INVAL, HF_E_FORKED
 * Any thread, but not from a callback. */
struct hf_client_closed {
    uint64_t finished;          /* calls, and releases in the background, that
                                   were answered */
    uint64_t cancelled;         /* of which the server has done nothing: not
                                   sent, or waiting for another's lock */
    uint64_t unknown;           /* that it may have done */
    uint64_t holds;             /* still held: they end with their TTL */
};
HF_API hf_status hf_client_close(struct hf_client *client, int64_t timeout_ms,
                                 struct hf_client_closed *out,
                                 struct hf_error *err);

/* The UUID (36 characters) that begins each owner field of this client. */
HF_API const char *hf_client_uuid(const struct hf_client *client);

/* The loop that it uses, to be driven by hf_loop_fd, _timeout, _dispatch. */
HF_API struct hf_loop *hf_client_loop(struct hf_client *client);

/* "127.0.0.1:6379", for messages. */
HF_API const char *hf_client_address(const struct hf_client *client);

struct hf_client_stats {
    uint64_t holds;             /* now */
    uint64_t waiters;           /* calls under way now */
    uint64_t orphans;           /* releases in the background under way now: see
                                   hf_lock_acquire */
    uint64_t renewals;          /* holds renewed, since the start */
    uint64_t renewal_requests;  /* commands that took */
    struct hf_link_stats link;  /* of all servers, and of those that are gone;
                                   in RESP2, messages come over other links */
    struct hf_loop_stats loop;  /* also of others that share it */
    struct hf_router_counts route;  /* how often commands went elsewhere */
};

/* hf_client_stats - a copy (2 KB); all 0 in a forked child. Any thread. */
HF_API void hf_client_stats(struct hf_client *client,
                            struct hf_client_stats *out);

#ifdef __cplusplus
}
#endif
#endif
