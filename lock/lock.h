/* holdfast: distributed locks on Redis and Valkey, shared with every Redisson
 * (Java) process on the same server.
 *
 *     struct hf_client_options options;
 *     struct hf_client *client;
 *     struct hf_lock *lock;
 *
 *     hf_client_options_init(&options);
 *     options.url = "redis://127.0.0.1:6379";
 *     if (hf_client_new(&client, &options, &error) < 0 ||
 *         hf_lock_new(&lock, client, "nightly-report", 14, &error) < 0 ||
 *         hf_lock_acquire(lock, NULL, &error) < 0)
 *         return give_up(error.text);
 *     ...
 *     hf_lock_release(lock, hf_owner_thread(), &error);
 *     hf_lock_free(lock);
 *     hf_client_free(client);
 *
 * What a lock promises, and on which assumptions: docs/guarantees.md.
 *
 * Threads: every function may be called from any thread, unless it says otherwise.
 * Callbacks (on_lost, on_renewed, on_wait, done): connect.h says on which thread they
 * run, and what they may call.
 * Errors: `err` may be NULL. It is filled whenever the status is negative.
 * Source: WIRE (redisson-wire, sections 1 to 12) for keys, fields, channels. */
#ifndef HF_LOCK_H
#define HF_LOCK_H

#include <stdbool.h>

#include "lock/connect.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- statuses ------------------------------------------------------------ */

/* What this floor adds to the statuses (resp/base.h, net/net.h): ordinary
 * refusals. */
#define HF_LOCK_STATUS_MAP(X)                                                 \
    X(HF_TIMEOUT, -1, "the lock was not to be had in the time allowed")       \
    X(HF_NOT_OWNER, -2, "this owner does not hold the lock")                  \
    X(HF_LOST, -3, "the lock was lost while it was held")                     \
    X(HF_CANCELLED, -4, "the wait was cancelled")                             \
    X(HF_UNREPLICATED, -5, "too few replicas have the lock")                  \
    X(HF_E_QUORUM, -113, "too few servers of a quorum answered")

enum { HF_LOCK_STATUS_MAP(HF_STATUS_ENUM) };

/* hf_status_text - one line about a status of any floor, in English; not NULL.
 * hf_status_name - its name as spelled above ("HF_TIMEOUT").
 * Static memory. Any thread. */
HF_API const char *hf_status_text(hf_status status);
HF_API const char *hf_status_name(hf_status status);

/* ---- locks --------------------------------------------------------------- */

/* A handle on one name and kind. Handles on the same share everything. */
struct hf_lock;

/* Kinds of locks: those that can be taken, and those of Redisson's that are
 * only recognised, by what stands under their name, and left alone. A fair lock
 * that nobody waits for looks like a plain one, and may be treated as one; so
 * do a non-reentrant, a fenced and a spin lock: for the server, all are plain. */
enum hf_lock_kind {
    HF_KIND_NONE,               /* not locked */
    HF_KIND_PLAIN,              /* can be taken: reentrant, Redisson's RLock */
    HF_KIND_FAIR,               /* can be taken: in the order of arrival, over
                                   all processes; inspect: somebody waits */
    HF_KIND_READ,               /* can be taken: the side of many readers */
    HF_KIND_WRITE,              /* can be taken: the side of one writer */
    HF_KIND_MULTI,              /* many values, locked as one */
    HF_KIND_NONREENTRANT,       /* can be taken: by an owner once */
    HF_KIND_FENCED,             /* can be taken: reentrant; hf_lock_token */
    HF_KIND_NONREENTRANT_FAIR,  /* can be taken: a fair one, by an owner once */
    HF_KIND_PERMIT,             /* can be taken, by several: permits.h */
    HF_KIND_SPIN,               /* can be taken: reentrant; waiters ask again
                                   and again: no message of Redisson's */
    HF_KIND_VALUE,              /* can be taken: by an owner once; SET NX PX, as
                                   redis-py, redsync, node-redlock do */
    HF_WITH_TOKEN = 256         /* or-ed to any of one owner: hf_lock_token */
};
HF_API const char *hf_lock_kind_text(enum hf_lock_kind kind);

#define HF_LOCK_NAME_MAX (64 * 1024)

/* hf_lock_new - a plain lock. Its name has `len` bytes of any value, 1 to
 *   HF_LOCK_NAME_MAX, copied: the key itself (of Redisson's NameMapper, the
 *   mapped name). HF_E_INVAL, HF_E_NOMEM, HF_E_LIMIT, HF_E_FORKED. No I/O.
 * hf_lock_new_kind - likewise, of a kind that can be taken; else HF_E_INVAL.
 *   The two sides of a read-write lock (RReadWriteLock) are two handles of one
 *   name; what an owner holds (hf_lock_safe_ms, hf_lock_hold_count), a loss and
 *   a forced release are of the handle's side, hf_lock_inspect tells of both.
 *   Give a name to one kind of lock. What each kind is, its order of waiters, and
 *   what two kinds of one name do to each other: docs/kinds.md.
 * hf_lock_free - gives the handle up; holds and waits go on. Takes NULL. */
HF_API hf_status hf_lock_new(struct hf_lock **out, struct hf_client *client,
                             const void *name, size_t len,
                             struct hf_error *err) HF_MUST_CHECK;
HF_API hf_status hf_lock_new_kind(struct hf_lock **out,
                                  struct hf_client *client,
                                  enum hf_lock_kind kind, const void *name,
                                  size_t len, struct hf_error *err)
    HF_MUST_CHECK;
HF_API void hf_lock_free(struct hf_lock *lock);

/* The name as given, and behind it a NUL, which it may contain, too; *len may
 * be NULL. Valid as long as the handle. */
HF_API const char *hf_lock_name(const struct hf_lock *lock, size_t *len);

/* An owner is a 64-bit number: of a thread, a task, a request. The same owner
 * may acquire a reentrant lock again (re-entry), and release it from any
 * thread, by the same number. So two tasks that are to exclude each other need
 * two.
 *     0 is nobody: options that were only zeroed are refused (HF_E_INVAL).
 * -2^48 to -1 are given by the library. All others are for you to choose.
 * hf_owner_thread - the number of the calling thread, the default of calls that
 *   block. A forked child keeps that of the thread that forked.
 * hf_owner_new    - another number with each call, for a task. Keep it:
 *   releasing takes it.
 * Neither gives a number twice in the life of the process. */
HF_API int64_t hf_owner_thread(void);
HF_API int64_t hf_owner_new(void);

/* Why a hold was lost. */
enum hf_lost {
    HF_LOST_DELETED = 1,        /* the server knows no such lock any more */
    HF_LOST_TAKEN,              /* another holds it */
    HF_LOST_UNREACHABLE,        /* no good answer before the safe moment */
    HF_LOST_SUSPENDED,          /* we did not run when the safe moment passed */
    HF_LOST_LEASE_ENDED,        /* a hold with a lease was not released in time;
                                   or the shorter lease of a re-entry has ended
                                   before a renewal was answered */
    HF_LOST_MAX_HOLD,           /* max_hold_ms is over; released */
    HF_LOST_CLOSED              /* hf_client_free */
};
HF_API const char *hf_lost_text(enum hf_lost reason);

/* How a lock stands. */
struct hf_lock_info {
    bool is_locked;
    int64_t ttl_ms;             /* -1: no TTL; -2: not locked */
    int64_t hold_count;         /* the holder's */
    size_t holder_len;
    char holder[192];           /* the owner: "uuid:number"; of several, one; of
                                   a value lock any text. Ends in NUL */
    enum hf_lock_kind kind;
    int64_t holders;            /* readers that died, too, until it is released */
    int64_t waiters;            /* in a fair lock's queue, also dead; -1: unknown */
    size_t holder_full_len;     /* on the server; > holder_len if the text was cut */
    int64_t first_place_ms;     /* remaining time of the first waiter's place, also if
                                   the lock is free (queue.h). -1: none, or unknown */
    size_t first_waiter_len;
    char first_waiter[192];     /* "uuid:number", cut to 191 bytes. Ends in NUL */
};

/* Ends waits from elsewhere. The caller's memory; fired once, it stays fired
 * until it is initialised again, so a cancel before the call counts too. One
 * may serve many calls.
 * hf_cancel_init - for this client's calls (others: HF_E_INVAL). No call may use it.
 * hf_cancel_fire - ends those under way, and those to come, with HF_CANCELLED.
 *   Any thread, but not a signal handler. */
struct hf_cancel {
    struct hf_client *client;
    struct hf_list waits;
    bool is_fired;
};
HF_API void hf_cancel_init(struct hf_cancel *cancel, struct hf_client *client);
HF_API void hf_cancel_fire(struct hf_cancel *cancel);

#define HF_FOREVER (-1)

/* The longest wait, lease and timeout: some 30 years. More is HF_E_INVAL. */
#define HF_SPAN_MAX_MS INT64_C(1000000000000)

struct hf_acquire_options {
    int64_t owner;              /* default: hf_owner_thread(). 0: HF_E_INVAL */
    int64_t wait_ms;            /* HF_FOREVER (default); 0: one try. At most
                                   HF_SPAN_MAX_MS, like those that follow */
    int64_t lease_ms;           /* > 0: TTL, never renewed; 0 (default): the
                                   watchdog's, renewed while held */
    int64_t max_hold_ms;        /* > 0: renewed at most so long, then lost */
    struct hf_cancel *cancel;   /* NULL: none. Must outlive the call */
    bool keep_unreplicated;     /* HF_UNREPLICATED leaves it held: to be
                                   released. Default: it is given back */

    /* Callbacks of the hold that this call makes; re-entries keep those of the
     * first. All may be NULL. `ctx` is handed to each; one that has begun may
     * still run when another thread's release returns, so what it points at
     * lives until then or, to be sure, until hf_client_free.
     * on_wait     another holds it: we begin to wait. Not called any more once
     *             the call has ended
     * on_renewed  the watchdog renewed it; not told any more once it is lost, or
     *             its last release has begun
     * on_lost     once, before the server can let go of it, unless it already
     *             has: a deletion is noticed at the next renewal; or, with a
     *             lease_ms, which is not renewed, at the release or shortly
     *             before the lease would end. The hold must then be released as
     *             often as it was acquired (HF_LOST), before its owner can have
     *             the lock again; or it is forgotten with the client */
    void (*on_wait)(void *ctx, struct hf_lock *lock,
                    const struct hf_lock_info *info);
    void (*on_renewed)(void *ctx, struct hf_lock *lock, int64_t owner);
    void (*on_lost)(void *ctx, struct hf_lock *lock, int64_t owner,
                    enum hf_lost reason);
    void *ctx;
    bool allow_same_server;     /* of members: quorum.h, multi.h */
};

/* hf_acquire_options_init - every default, the calling thread as the owner. */
HF_API void hf_acquire_options_init(struct hf_acquire_options *options);

/* hf_lock_acquire - takes the lock; or takes it once more, if it is reentrant.
 *   options   NULL: this thread, wait for ever, watchdog
 * Returns HF_OK          held; release as often as acquired
 *         HF_TIMEOUT     wait_ms is over; another held it when last heard of
 *         HF_CANCELLED   cancel was fired
 *         HF_LOST        this owner's hold was lost, and is not given back yet:
 *                        answered at once, without asking the server, until
 *                        hf_lock_release was called as often as it was
 *                        acquired. A loop that tries again must do that first
 *         HF_UNREPLICATED  the server granted it, and too few replicas (options
 *                        of the client) have it in time: a failover might lose
 *                        it. Given back, unless keep_unreplicated
 *         HF_E_SERVER    the server refused (WRONGTYPE, OOM, READONLY, ...), or
 *                        a hash that is no lock has the name: it is left alone
 *         HF_E_CONNECT, HF_E_TLS, HF_E_AUTH, HF_E_PROTOCOL, HF_E_NOREPLY
 *                        no answer within the request timeout. Should the
 *                        server grant the lock after all, it is released in
 *                        the background. A re-entry that fails leaves the hold
 *                        as it was, but for its lease, which may be the shorter
 *         HF_E_INVAL     the options; or this owner holds a lock of that name
 *                        that it cannot acquire again: a non-reentrant one, or
 *                        one of another kind. It would wait for itself. Nothing
 *                        is done, and what it holds stays held
 *         HF_E_LIMIT, HF_E_NOMEM, HF_E_FORKED, HF_E_CLOSED
 *
 * What ends a call whose wait_ms is not 0, and what does not:
 *   the server grants the lock        HF_OK, HF_UNREPLICATED
 *   wait_ms is over                   HF_TIMEOUT if the server last said that
 *                                     another holds it; else the error that has
 *                                     kept the server from answering
 *   `cancel` is fired                 HF_CANCELLED
 *   the client is closed              HF_E_CLOSED
 *   the server refuses the command,   HF_E_SERVER, HF_E_AUTH, HF_E_TLS
 *   the user or the certificate
 *   the server is unreachable,        nothing, if it has answered this call, or
 *   silent, busy, loading, without    one of this client that waited for the
 *   its cluster; output_max is        lock before it; else, after the request
 *   reached                           timeout, HF_E_CONNECT, HF_E_NOREPLY,
 *                                     HF_E_SERVER
 *   the grant comes when half of      asked for again, three times at most; if
 *   its lease is over                 the last lease has ended, HF_E_NOREPLY
 * A call whose wait_ms is 0 asks once, within the request timeout; once more,
 * within another one, if the grant came late or if a call of the same owner on
 * the same lock is under way. HF_E_LIMIT is waiters_max.
 * With replicas, an acquire may take replicas_timeout_ms longer. A re-entry and
 * a renewal do not wait for replicas. Acquires and releases share the
 * connection on which the server waits: while replicas do not answer, each
 * acquire delays those behind it for that long, and some end with HF_E_NOREPLY.
 * A release in the background is repeated until the server has answered it, or
 * the client is closed; at most 16384 are under way. A grant that was given up
 * beyond them, or that the server executes after its release, is released when
 * another acquire of this client is refused because of it; else it ends with
 * its lease.
 * Cost: one command when uncontended.
 * Source: WIRE 6, 7, 8.1. */
HF_API hf_status hf_lock_acquire(struct hf_lock *lock,
                                 const struct hf_acquire_options *options,
                                 struct hf_error *err) HF_MUST_CHECK;

/* hf_lock_release - gives up one acquisition of `owner`; the last one frees the
 *   lock and wakes waiters. Whatever it returns, but where "nothing was done",
 *   the owner has one acquisition less, and does not release it again.
 * Returns HF_OK         one less. After an unknown outcome, asked again and
 *                       found gone: HF_OK if the hold was safe when it was
 *                       first asked, else HF_LOST; nobody can know more
 *         HF_NOT_OWNER  this client has no such hold: nothing was done
 *         HF_LOST       one less of a hold that had been lost; with the last
 *                       one it is forgotten
 *         HF_E_LIMIT, HF_E_FORKED, or HF_E_CLOSED from a call that began after
 *                       hf_client_close: nothing was done
 *         other HF_E_*  no answer, or the server refused. One less all the
 *                       same. If it was the last one, the hold is forgotten,
 *                       never renewed again, and released in the background or
 *                       by its TTL. If not, the hold goes on with those that
 *                       are left: renewed as before, its lease perhaps shorter;
 *                       the next call on it sets the server's count right
 * After HF_OK, no renewal of a hold that is given up is executed; after an error
 * one that was sent before it still may be.
 * Source: WIRE 8.2. */
HF_API hf_status hf_lock_release(struct hf_lock *lock, int64_t owner,
                                 struct hf_error *err);

/* hf_lock_force_release - frees the lock, any holder's or that of one, and wakes waiters.
 *   holder, len   NULL: any; else only if it is held by this "uuid:number";
 *                 of a value lock any text of 1 to 191 bytes
 * Returns HF_OK, HF_NOT_OWNER (not locked, or by another), HF_E_*:
 *         HF_E_INVAL     `holder` is not of that form: empty, too long, ...
 *         HF_E_SERVER    another kind of lock has the name (the error says
 *                        which), or no lock at all; a plain lock has several
 *                        holders; or a read lock has, and `holder` names one;
 *                        a value lock's holder is none: nothing is changed
 *         HF_E_NOREPLY   it may have been done, or may be yet. Without a holder it
 *                        is not repeated (another may hold it by then): inspect
 * The holder learns of it when it renews or releases. Source: WIRE 8.3. */
HF_API hf_status hf_lock_force_release(struct hf_lock *lock, const char *holder,
                                       size_t len, struct hf_error *err);

/* hf_lock_inspect - queries the server. HF_E_SERVER: the key is not a lock.
 * hf_lock_is_locked, hf_lock_remaining_ms - of that (TTL in ms; -1 none, -2 free).
 * hf_lock_is_held_by, hf_lock_hold_count - an owner of this client: what the
 *   server says of its hold; false, 0 without asking if there is none.
 * Source: WIRE 8.4. */
HF_API hf_status hf_lock_inspect(struct hf_lock *lock, struct hf_lock_info *out,
                                 struct hf_error *err) HF_MUST_CHECK;
HF_API hf_status hf_lock_is_locked(struct hf_lock *lock, bool *out,
                                   struct hf_error *err) HF_MUST_CHECK;
HF_API hf_status hf_lock_remaining_ms(struct hf_lock *lock, int64_t *out,
                                      struct hf_error *err) HF_MUST_CHECK;
HF_API hf_status hf_lock_is_held_by(struct hf_lock *lock, int64_t owner,
                                    bool *out, struct hf_error *err)
    HF_MUST_CHECK;
HF_API hf_status hf_lock_hold_count(struct hf_lock *lock, int64_t owner,
                                    int64_t *out, struct hf_error *err)
    HF_MUST_CHECK;

/* hf_lock_safe_ms - for how long the hold is certain to be ours, from now on: our
 *   clock began before the server's, less a margin for drift. <= 0: do not touch
 *   what the lock protects; it may be so after a switch of masters until the new one
 *   replies (docs/guarantees.md, 3a). INT64_MIN: no such hold, lost, or its last
 *   release has begun. A re-entry, partial release or renewal whose lease is shorter
 *   counts from when it is handed out. No I/O; call this first after a pause. */
HF_API int64_t hf_lock_safe_ms(struct hf_lock *lock, int64_t owner);

/* hf_lock_token - the fencing token of a hold of a fenced lock, or of one with
 *   HF_WITH_TOKEN (not of readers, permits): the number of its grant, greater than
 *   that of every grant with a token before it, to Redisson's fenced holders, too.
 *   How to use it, where it begins anew: docs/fencing.md. A re-entry keeps it; a
 *   lost hold has it until released. 0: no hold, or no token. No I/O. WIRE 10. */
HF_API int64_t hf_lock_token(struct hf_lock *lock, int64_t owner);

/* hf_lock_owner_text - the owner field of a hold, "uuid:number", as the server
 *   knows it. dst has HF_OWNER_TEXT_MAX bytes; "" if there is no such hold. */
#define HF_OWNER_TEXT_MAX 76
HF_API char *hf_lock_owner_text(struct hf_lock *lock, int64_t owner,
                                char dst[HF_OWNER_TEXT_MAX]);

/* ---- without blocking ---------------------------------------------------- */

/* As the call of the same name; `done` is called once, with the status that the
 * blocking call would return, unless the function itself returns a failure:
 * then nothing was done (HF_E_INVAL, HF_E_NOMEM, HF_E_LIMIT, HF_E_FORKED,
 * HF_E_CLOSED). `err` is valid until `done` returns. `out` must live until
 * then. */
typedef void hf_done(void *ctx, hf_status status, const struct hf_error *err);

/* An asynchronous acquire belongs to no thread, so `options` must name its
 * owner: a number of your own, or hf_owner_new(). HF_E_INVAL if they are NULL,
 * or if the owner is a thread's, which hf_acquire_options_init has set: all
 * tasks of one event loop would be one owner. hf_lock_release_async takes that
 * owner again; hf_lock_force_release_async and hf_lock_inspect_async need none.
 */
HF_API hf_status hf_lock_acquire_async(struct hf_lock *lock,
                                       const struct hf_acquire_options *options,
                                       hf_done *done, void *ctx) HF_MUST_CHECK;
HF_API hf_status hf_lock_release_async(struct hf_lock *lock, int64_t owner,
                                       hf_done *done, void *ctx) HF_MUST_CHECK;
HF_API hf_status hf_lock_force_release_async(struct hf_lock *lock,
                                             const char *holder, size_t len,
                                             hf_done *done, void *ctx)
    HF_MUST_CHECK;
HF_API hf_status hf_lock_inspect_async(struct hf_lock *lock,
                                       struct hf_lock_info *out, hf_done *done,
                                       void *ctx) HF_MUST_CHECK;

/* ---- scoped -------------------------------------------------------------- */

/* hf_lock_with - takes the lock, calls `body`, releases on every path.
 *   on_acquire  NULL, or called before `body`; false: do not, release
 *   body        its answer goes to *result (NULL: nowhere)
 *   on_exit     NULL, or called after the release with its status
 * Returns as hf_lock_acquire if it was not acquired, else as hf_lock_release.
 * HF_E_INVAL: keep_unreplicated, which would leave it held. */
struct hf_scope {
    bool (*on_acquire)(void *ctx, struct hf_lock *lock);
    int (*body)(void *ctx, struct hf_lock *lock);
    void (*on_exit)(void *ctx, struct hf_lock *lock, hf_status released);
    void *ctx;
};
HF_API hf_status hf_lock_with(struct hf_lock *lock,
                              const struct hf_acquire_options *options,
                              const struct hf_scope *scope, int *result,
                              struct hf_error *err) HF_MUST_CHECK;

#ifdef __cplusplus
}
#endif
#endif
