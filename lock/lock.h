/* holdfast: distributed locks on Redis and Valkey. Redisson (Java) processes that use
 * the same server see the same locks.
 *
 *     struct hf_client_options options;
 *     struct hf_client *client;
 *     struct hf_lock *lock;
 *     struct hf_error error;
 *
 *     hf_client_options_init(&options);
 *     options.url = "redis://127.0.0.1:6379";
 *     if (hf_client_new(&client, &options, &error) < 0 ||
 *         hf_lock_new(&lock, client, "nightly-report", 14, &error) < 0 ||
 *         hf_lock_acquire(lock, NULL, &error) < 0)
 *         return fail(error.text);
 *     ...
 *     hf_lock_release(lock, hf_owner_thread(), &error);
 *     hf_lock_free(lock);
 *     hf_client_free(client);
 *
 * A hold is the fact that an owner has acquired a lock and not released it. The server deletes
 * a lock when its lease ends, unless the client has renewed the hold. docs/glossary.md explains
 * the other words. docs/guarantees.md says what a lock promises, and under which assumptions.
 *
 * Threads: every function may be called from any thread, unless its comment says
 * otherwise. connect.h says in which thread callbacks run, and what they may call.
 * Errors: `err` may be NULL. It is filled whenever the status is negative.
 * "Source: WIRE 6" names a section of WIRE: Redisson's keys and channels (docs/sources.md). */
#ifndef HF_LOCK_H
#define HF_LOCK_H

#include <stdbool.h>

#include "lock/connect.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- statuses ------------------------------------------------------------ */

/* The statuses of locks. resp/base.h and net/net.h define the others. */
#define HF_LOCK_STATUS_MAP(X)                                                 \
    X(HF_TIMEOUT, -1, "timed out waiting for the lock")                       \
    X(HF_NOT_OWNER, -2, "this owner does not hold the lock")                  \
    X(HF_LOST, -3, "the lock was lost while it was held")                     \
    X(HF_CANCELLED, -4, "the wait was cancelled")                             \
    X(HF_UNREPLICATED, -5, "not enough replicas confirmed the write in time") \
    X(HF_IN_USE, -6, "permits are in use; nothing was changed")              \
    X(HF_E_QUORUM, -113, "not enough servers of the quorum replied")

enum { HF_LOCK_STATUS_MAP(HF_STATUS_ENUM) };

/* hf_status_text - returns one line of English about any status; static, never NULL. */
HF_API const char *hf_status_text(hf_status status);

/* hf_status_name - returns the name of a status, such as "HF_TIMEOUT"; static. */
HF_API const char *hf_status_name(hf_status status);

/* ---- locks --------------------------------------------------------------- */

/* A handle on one name and kind. A client's handles on the same name and kind share one state. */
struct hf_lock;

/* The kinds of locks; docs/kinds.md describes each. The owner of a reentrant lock can acquire the
 * lock again. The server does not store the kind: hf_lock_inspect derives the kind from the value
 * of the lock's key. For a fair lock without waiters, and for every non-reentrant, fenced or spin
 * lock, it reports HF_KIND_PLAIN. */
enum hf_lock_kind {
    HF_KIND_NONE,               /* not locked */
    HF_KIND_PLAIN,              /* reentrant: Redisson's RLock */
    HF_KIND_FAIR,               /* grants in order of arrival, over all clients */
    HF_KIND_READ,               /* the side of a read-write lock for many readers */
    HF_KIND_WRITE,              /* the side for one writer */
    HF_KIND_MULTI,              /* Redisson's "faster" multi-lock, not multi.h; inspect only */
    HF_KIND_NONREENTRANT,       /* an owner acquires it once */
    HF_KIND_FENCED,             /* reentrant, with tokens: hf_lock_token */
    HF_KIND_NONREENTRANT_FAIR,  /* fair; an owner acquires it once */
    HF_KIND_PERMIT,             /* has several holders: permits.h */
    HF_KIND_SPIN,               /* reentrant; waiters poll, as Redisson's do */
    HF_KIND_VALUE,              /* a string, as redis-py's (SET NX PX); acquired once */
    HF_WITH_TOKEN = 256         /* flag: KIND | HF_WITH_TOKEN has fencing tokens. Not for READ,
                                   PERMIT and MULTI. With PLAIN: FENCED. C++ needs a cast */
};

/* hf_lock_kind_text - returns the name of a kind, such as "fair lock"; static. */
HF_API const char *hf_lock_kind_text(enum hf_lock_kind kind);

#define HF_LOCK_NAME_MAX (64 * 1024)

/* hf_lock_new - creates a handle on a plain lock, without I/O. The name, 1 to HF_LOCK_NAME_MAX
 *   bytes of any value, is the key itself, and is copied. (If Redisson has a NameMapper, give
 *   its result.) Returns HF_OK, HF_E_INVAL, HF_E_NOMEM, HF_E_LIMIT or HF_E_FORKED. */
HF_API hf_status hf_lock_new(struct hf_lock **out, struct hf_client *client, const void *name,
                             size_t len, struct hf_error *err) HF_MUST_CHECK;

/* hf_lock_new_kind - creates a handle on a lock of any kind except HF_KIND_NONE and
 *   HF_KIND_MULTI (HF_E_INVAL), as hf_lock_new. Use one kind for each name; docs/kinds.md
 *   says what two kinds of one name do to each other. A read-write lock has two handles
 *   of one name, HF_KIND_READ and HF_KIND_WRITE. A call, a loss or a forced release
 *   affects only the side of its handle; hf_lock_inspect reports both sides. */
HF_API hf_status hf_lock_new_kind(struct hf_lock **out, struct hf_client *client,
                                  enum hf_lock_kind kind, const void *name, size_t len,
                                  struct hf_error *err) HF_MUST_CHECK;

/* hf_lock_free - frees the handle (NULL is allowed), also in a callback. Holds and pending calls
 *   continue, and callbacks can still use their `lock`. hf_client_free frees remaining handles. */
HF_API void hf_lock_free(struct hf_lock *lock);

/* hf_lock_name - returns the name, followed by a NUL; the name itself may also contain
 *   NULs. *len receives its length; len may be NULL. Valid as long as the handle. */
HF_API const char *hf_lock_name(const struct hf_lock *lock, size_t *len);

/* An owner is a thread or task that acquires locks. The program gives each owner a 64-bit number,
 * the owner number (`owner` below), which may be used in any thread. The server stores the
 * owner as "uuid:number" (a writer: "uuid:number:write"): the client's UUID, and the owner number
 * with ten more digits, different for each hold. Two tasks that must exclude each other need two
 * owner numbers. The library chooses -2^48 to -1; all other numbers except 0 are yours.
 *
 * hf_owner_thread - returns the owner number of the calling thread, the default of a blocking
 *   acquire. In a forked child, it is the number of the thread that called fork. */
HF_API int64_t hf_owner_thread(void);

/* hf_owner_new - returns an owner number for a task. It differs from all numbers that this
 *   function and hf_owner_thread returned. Keep the number: the release needs it. */
HF_API int64_t hf_owner_new(void);

/* Why a hold was lost. */
enum hf_lost {
    HF_REASON_DELETED = 1,      /* the lock no longer exists on the server */
    HF_REASON_TAKEN,            /* another owner holds the lock, or a program overwrote it */
    HF_REASON_UNREACHABLE,      /* no renewal succeeded before the safe time ended */
    HF_REASON_SUSPENDED,        /* this process did not run when the safe time ended */
    HF_REASON_LEASE_ENDED,      /* the lease_ms of the acquire, or of a re-entry, ended */
    HF_REASON_MAX_HOLD,         /* max_hold_ms expired. After on_lost, the client releases the
                                   lock, except a member of a multi-lock or quorum */
    HF_REASON_CLOSED            /* hf_client_free was called (hf_client_close keeps holds) */
};

/* hf_lost_text - returns one line of English about the reason; static. */
HF_API const char *hf_lost_text(enum hf_lost reason);

/* The state of a lock on the server. */
struct hf_lock_info {
    size_t size;                /* number of bytes that the library filled in: net/version.h */
    bool is_locked;
    int64_t ttl_ms;             /* -1: no TTL; -2: not locked */
    int64_t hold_count;         /* of `holder` */
    size_t holder_len;
    char holder[192];           /* the owner as the server stores it (of a value lock: any text);
                                   if there are several holders, one of them. Ends in NUL */
    enum hf_lock_kind kind;
    int64_t holders;            /* readers that died are counted until the lock is free */
    int64_t waiters;            /* in a fair lock's queue, also dead ones; -1: unknown */
    size_t holder_full_len;     /* > holder_len if the holder was cut */
    int64_t first_place_ms;     /* time until the first waiter's place in the queue (queue.h)
                                   expires, also of a free lock; -1: no waiter, or unknown */
    size_t first_waiter_len;
    char first_waiter[192];     /* "uuid:number", cut to 191 bytes. Ends in NUL */
};

/* A cancellation: when another thread or a callback fires it, the calls that use it end. The
 * program allocates the struct, and may use one for many calls. A fired cancellation also ends
 * calls that begin later, until hf_cancel_init. */
struct hf_cancel {
    struct hf_client *client;
    struct hf_list waits;
    bool is_fired;
    void *reserved[3];          /* for later versions */
};

/* hf_cancel_init - prepares `cancel` for calls of this client; a call of another client returns
 *   HF_E_INVAL. No pending call may be using `cancel`. */
HF_API void hf_cancel_init(struct hf_cancel *cancel, struct hf_client *client);

/* hf_cancel_fire - ends the pending calls that use `cancel`, and later ones, with HF_CANCELLED.
 *   Do not call it from a signal handler. */
HF_API void hf_cancel_fire(struct hf_cancel *cancel);

#define HF_FOREVER (-1)

/* The longest wait, lease, hold and timeout, about 30 years. A longer time is HF_E_INVAL. */
#define HF_SPAN_MAX_MS INT64_C(1000000000000)

struct hf_acquire_options {
    size_t size;                /* set by HF_ACQUIRE_OPTIONS_INIT: net/version.h */
    int64_t owner;              /* owner number; default: hf_owner_thread(). 0: HF_E_INVAL */
    int64_t wait_ms;            /* HF_FOREVER (default); 0: the call does not wait */
    int64_t lease_ms;           /* > 0: the lease; hf_lock_renew (renew.h) extends it. 0 (default):
                                   the lease is the client's watchdog_ms, and the client renews
                                   the hold every watchdog_ms / 3, if the lease_ms of one of its
                                   acquires is 0. A re-entry sets the TTL to its lease */
    int64_t max_hold_ms;        /* > 0: the hold is lost after this time; 0 (default): no limit.
                                   Ignored in a re-entry */
    struct hf_cancel *cancel;   /* NULL: none. Must outlive the call */
    bool keep_unreplicated;     /* after HF_UNREPLICATED the lock is held, and must be
                                   released. Default: the call releases it */
    bool allow_same_server;     /* accept two members of a quorum on one server; in a multi-lock,
                                   two locks with the same name on one server */

    /* The callbacks of the hold; each may be NULL, and gets `ctx`. A re-entry keeps the callbacks
     * of the first acquire. When hf_lock_release returns, a callback may still run in another
     * thread: keep `ctx` until hf_client_free. (None runs after `done` of hf_lock_release_async.)
     * on_wait     the server replied to this call that the lock is held, so the call waits. Not
     *             called while another call of the client is before this call in the queue, nor
     *             after this call has ended
     * on_renewed  the hold was renewed. Not called after a loss or after the last release began
     * on_lost     the hold is lost; called once. If renewals fail: before the lock expires on the
     *             server, unless this process is suspended. If the lock was deleted or taken: at
     *             the next renewal, or earlier after a failover or with tracking=on in the URL.
     *             (For a hold with lease_ms, which the client does not renew: at hf_lock_renew, a
     *             re-entry, a release except the last, or shortly before the lease ends.) Then the
     *             owner's acquires return HF_LOST until it has called hf_lock_release for each */
    void (*on_wait)(void *ctx, struct hf_lock *lock, const struct hf_lock_info *info);
    void (*on_renewed)(void *ctx, struct hf_lock *lock, int64_t owner);
    void (*on_lost)(void *ctx, struct hf_lock *lock, int64_t owner, enum hf_lost reason);
    void *ctx;
};

/* The defaults, with the calling thread as the owner. hf_acquire_options_init sets them.
 * hf_acquire_options_init_sized is for a struct of another size: see connect.h. */
#define HF_ACQUIRE_OPTIONS_INIT                                               \
    {.size = sizeof(struct hf_acquire_options), .owner = hf_owner_thread(), .wait_ms = HF_FOREVER}
HF_API void hf_acquire_options_init_sized(struct hf_acquire_options *options, size_t size);
static inline void hf_acquire_options_init(struct hf_acquire_options *options)
{
    hf_acquire_options_init_sized(options, sizeof *options);
}

/* hf_lock_acquire - acquires the lock. The owner of a reentrant lock can acquire it again.
 *   options   NULL: the defaults (this thread, wait forever, watchdog)
 * Returns HF_OK          held; release the lock as often as acquired
 *         HF_TIMEOUT     wait_ms expired, and another owner holds the lock (see below)
 *         HF_CANCELLED   `cancel` was fired; a later grant is released in the background
 *         HF_LOST        this owner's earlier hold was lost, and the owner has not yet called
 *                        hf_lock_release as often as it had acquired the lock. No request is sent
 *         HF_UNREPLICATED  the server granted the lock, but fewer replicas than
 *                        hf_client_options.replicas confirmed it within replicas_timeout_ms. The
 *                        lock was released, unless keep_unreplicated is set
 *         HF_E_SERVER    the server refused (WRONGTYPE, OOM, READONLY, ...), or the key is
 *                        a hash that is not a lock; the hash is unchanged
 *         HF_E_CONNECT, HF_E_TLS, HF_E_AUTH, HF_E_PROTOCOL, HF_E_NOREPLY
 *                        no usable reply within the request timeout. If the server grants the
 *                        lock later, the client releases that grant in the background. If a
 *                        re-entry failed, the hold remains. If the server may have executed the
 *                        re-entry, the lease is the shorter of the old and the requested lease
 *         HF_E_INVAL     invalid options; or this owner holds the lock and cannot re-enter it:
 *                        the lock is non-reentrant, or held as another kind. Nothing was changed
 *         HF_E_LIMIT (waiters_max calls are pending), HF_E_NOMEM, HF_E_FORKED, HF_E_CLOSED
 *
 * What ends a call whose wait_ms is not 0, and its status:
 *   the server grants the lock   HF_OK, HF_UNREPLICATED
 *   wait_ms expires              HF_TIMEOUT if the last request had a reply, otherwise the error of
 *                                that request. A request that was sent in the last 0.5 s and has
 *                                no reply is ignored: the request before it decides
 *   `cancel` is fired            HF_CANCELLED
 *   the client is closed         HF_E_CLOSED
 *   OOM, NOREPLICAS, MISCONF     HF_E_SERVER at once (*)
 *   an error of the list below   HF_E_SERVER, HF_E_CONNECT or HF_E_NOREPLY, after the client has
 *                                retried until the request timeout (*)
 *   any other error              HF_E_SERVER (WRONGTYPE, NOPERM, ...), HF_E_AUTH, HF_E_TLS
 * (*) Once the server has replied "held" to any call of this client that waits for this lock, these
 * errors no longer end a call: the client retries until wait_ms expires.
 * Errors that are retried: no reply, a full output queue, a proxy that has lost its server, and
 * LOADING, READONLY, BUSY, MASTERDOWN, CLUSTERDOWN, TRYAGAIN, MOVED to the same node. For each
 * of these whose status is HF_E_SERVER, and for OOM, NOREPLICAS, MISCONF, is_temporary is set.
 * If several calls of a client wait for a lock that is not fair, one of them sends requests. A
 * call whose wait_ms is 0 sends one request, with two exceptions. If another call of the same owner
 * acquired the lock while that request was pending, a second request, with a new timeout, re-enters
 * the lock. If less than half of the lease remains when a grant arrives, any call repeats its
 * request: up to three times, or once if wait_ms is 0. After an expired grant: HF_E_NOREPLY.
 * With hf_client_options.replicas, an acquire may take replicas_timeout_ms longer. Re-entries and
 * renewals do not wait for replicas. If the replicas do not reply, later acquires and releases on
 * the same connection are delayed, and may end with HF_E_NOREPLY.
 * The client repeats a background release until the server replies or the client is closed. The
 * lock stays held if 16384 background releases are pending already, if the server refuses the
 * release, or if the server executes a delayed acquire after the release (possible only with a
 * proxy, or without permission for CLIENT KILL or INFO). Then the lock expires, or the client
 * releases the lock when the lock blocks another acquire.
 * Cost: one command without contention. Source: WIRE 6, 7, 8.1. */
HF_API hf_status hf_lock_acquire(struct hf_lock *lock, const struct hf_acquire_options *options,
                                 struct hf_error *err) HF_MUST_CHECK;

/* hf_lock_release - lowers the owner's hold count by one; at 0 the lock is free, and waiters are
 *   notified. The count is lowered even if the call returns an error, except where the list says
 *   "nothing was done". Therefore do not repeat the call after an error.
 * Returns HF_OK         released once. If the reply is lost, the client repeats the request
 *         HF_NOT_OWNER  this client has no such hold: nothing was done
 *         HF_LOST       released once, but the hold had been lost. Also if it may have been lost:
 *                       the first request had no reply, and the second found the lock free after
 *                       it may have expired. After the last release the owner can acquire again
 *         HF_E_LIMIT, HF_E_FORKED, or HF_E_CLOSED from a call that began after
 *                       hf_client_close: nothing was done
 *         other HF_E_*  no reply, a refusal, or no memory. If this was the last release, the hold
 *                       is not renewed: the client releases it in the background, or it expires.
 *                       Otherwise the hold continues, its safe time may be shorter until the next
 *                       renewal, and the next call corrects the server's count
 * After HF_OK, the server executes no renewal of the released hold. After an error, the server
 * may still execute a renewal that was sent before. Source: WIRE 8.2. */
HF_API hf_status hf_lock_release(struct hf_lock *lock, int64_t owner, struct hf_error *err);

/* hf_lock_force_release - frees a lock that another owner holds, and notifies waiters. The holder
 *   detects the loss as if the lock had been deleted: see on_lost.
 *   holder, len   NULL: all holders. Otherwise the lock is freed only if this owner holds it:
 *                 "uuid:number" (above), a permit's id, or a value lock's text of 1 to 191 bytes
 * Returns HF_OK
 *         HF_NOT_OWNER   the lock is free, or an owner other than `holder` holds it
 *         HF_E_INVAL     `holder` does not have this form
 *         HF_E_SERVER    nothing was changed: the key is not a lock; or it is of another kind
 *                        (the error names it); or `holder` is one of several readers; or the key
 *                        has too many holders for its kind; or a value has 0 or over 191 bytes
 *         HF_E_NOREPLY   the server may have executed the request, or may still do so. Without
 *                        `holder` the request is sent only once, because a second request might
 *                        free the next owner's lock. Call hf_lock_inspect
 *         other HF_E_*   as hf_lock_acquire. Source: WIRE 8.3. */
HF_API hf_status hf_lock_force_release(struct hf_lock *lock, const char *holder,
                                       size_t len, struct hf_error *err);

/* hf_lock_inspect - reads the state of the lock from the server. It returns HF_E_SERVER if
 *   the key is not a lock. Source: WIRE 8.4. */
HF_API hf_status hf_lock_inspect_sized(struct hf_lock *lock, struct hf_lock_info *out,
                                       size_t size, struct hf_error *err) HF_MUST_CHECK;
HF_MUST_CHECK static inline hf_status
hf_lock_inspect(struct hf_lock *lock, struct hf_lock_info *out, struct hf_error *err)
{
    return hf_lock_inspect_sized(lock, out, sizeof *out, err);
}

/* hf_lock_is_locked - reads whether the lock is held by any owner. */
HF_API hf_status hf_lock_is_locked(struct hf_lock *lock, bool *out,
                                   struct hf_error *err) HF_MUST_CHECK;

/* hf_lock_remaining_ms - reads the TTL; -1: the lock has no TTL; -2: it is free. */
HF_API hf_status hf_lock_remaining_ms(struct hf_lock *lock, int64_t *out,
                                      struct hf_error *err) HF_MUST_CHECK;

/* hf_lock_is_held_by - reads whether an owner of this client still holds the lock on the
 *   server. If this client has no such hold, *out is false and no request is sent. */
HF_API hf_status hf_lock_is_held_by(struct hf_lock *lock, int64_t owner, bool *out,
                                    struct hf_error *err) HF_MUST_CHECK;

/* hf_lock_hold_count - as hf_lock_is_held_by, but reads the hold count, or 0. */
HF_API hf_status hf_lock_hold_count(struct hf_lock *lock, int64_t owner, int64_t *out,
                                    struct hf_error *err) HF_MUST_CHECK;

/* hf_lock_safe_ms - returns the safe time: for how many ms from now the owner certainly holds the
 *   lock. It ends at the safe moment: when the last request that set the TTL (an acquire, renewal,
 *   or release except the last) was sent, plus the lease, minus a margin for clock drift. A request
 *   that shortens the TTL counts as soon as it is sent, not only when it has a reply. If the safe
 *   time is <= 0, do not use what the lock protects. After a failover it may be <= 0 until the new
 *   master replies (docs/guarantees.md, 3a). INT64_MIN: there is no such hold, the hold is lost,
 *   or its last release has begun. No I/O: call this function before each use. */
HF_API int64_t hf_lock_safe_ms(struct hf_lock *lock, int64_t owner);

/* hf_lock_token - returns the fencing token of a hold of a fenced lock, or of a kind with
 *   HF_WITH_TOKEN; 0 if there is no hold or no token. The token is greater than the token of each
 *   earlier grant, including those to Redisson. A re-entry does not change the token, and a lost
 *   hold keeps it until the release. No I/O. Use: docs/fencing.md. Source: WIRE 10. */
HF_API int64_t hf_lock_token(struct hf_lock *lock, int64_t owner);

/* hf_lock_owner_text - writes the owner as the server stores it to dst, and returns dst;
 *   "" if this owner has no hold. */
#define HF_OWNER_TEXT_MAX 76
HF_API char *hf_lock_owner_text(struct hf_lock *lock, int64_t owner, char dst[HF_OWNER_TEXT_MAX]);

/* ---- without blocking ---------------------------------------------------- */

/* Each function below starts the operation of the blocking call of the same name, and
 * returns without waiting. `done` is called once with the status that the blocking call would
 * return. If the function itself returns an error (HF_E_INVAL, HF_E_NOMEM, HF_E_LIMIT,
 * HF_E_FORKED, HF_E_CLOSED), nothing was done and `done` is not called. The `err` of `done` is
 * valid until `done` returns. */
typedef void hf_done(void *ctx, hf_status status, const struct hf_error *err);

/* hf_lock_acquire_async - `options` is copied. Set its owner, for example with hf_owner_new.
 *   HF_E_INVAL: `options` is NULL, or has the thread's owner number, which all its tasks share. */
HF_API hf_status hf_lock_acquire_async(struct hf_lock *lock,
                                       const struct hf_acquire_options *options, hf_done *done,
                                       void *ctx) HF_MUST_CHECK;

/* hf_lock_release_async - `owner` is the owner number of the acquire. */
HF_API hf_status hf_lock_release_async(struct hf_lock *lock, int64_t owner,
                                       hf_done *done, void *ctx) HF_MUST_CHECK;

/* hf_lock_force_release_async - `holder` is copied. */
HF_API hf_status hf_lock_force_release_async(struct hf_lock *lock, const char *holder,
                                             size_t len, hf_done *done, void *ctx) HF_MUST_CHECK;

/* hf_lock_inspect_async - `out` must remain valid until `done` is called. */
HF_API hf_status hf_lock_inspect_async_sized(struct hf_lock *lock, struct hf_lock_info *out,
                                             size_t size, hf_done *done, void *ctx) HF_MUST_CHECK;
HF_MUST_CHECK static inline hf_status
hf_lock_inspect_async(struct hf_lock *lock, struct hf_lock_info *out, hf_done *done, void *ctx)
{
    return hf_lock_inspect_async_sized(lock, out, sizeof *out, done, ctx);
}

#ifdef __cplusplus
}
#endif
#endif
