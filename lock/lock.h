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
 * What a lock promises, and on which assumptions: README, "What is promised".
 *
 * Threads: every function may be called from any thread, unless it says
 * otherwise.
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
 *     They run one at a time, losses before all others. No lock of ours is held:
 * a callback may call every function here, also those that block, but not those
 * that free or close. It should return soon. While it runs, no other callback
 * runs, and holds are renewed only if a blocked caller or another thread drives
 * the loop: a callback that takes longer than a third of the watchdog's timeout
 * may cost holds.
 *
 * Errors: `err` may be NULL. It is filled whenever the status is negative.
 *
 * Source: WIRE (redisson-wire, sections 1 to 10) for keys, fields and channels. */
#ifndef HF_LOCK_H
#define HF_LOCK_H

#include <stdbool.h>

#include "net/net.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- the client ---------------------------------------------------------- */

/* One client is one Redisson "instance": one UUID, one watchdog, and to each
 * server one connection (two in RESP2, one more with replicas). Threads share
 * it. */
struct hf_client;

enum hf_log_level { HF_LOG_ERROR, HF_LOG_WARNING, HF_LOG_INFO };

/* What a URL can say, too (user, password, name, protocol, TLS, timeouts), is
 * taken from here if it is given here, that is, not NULL and not 0; else from
 * the URL; else it is the default. */
struct hf_client_options {
    const char *url;            /* NULL: redis://127.0.0.1:6379. What it may say:
                                   net/net.h, "servers" */
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
                                   counts as acquired: a number, HF_REPLICAS_ALL
                                   or _MAJORITY. Of a URL: replicas. Default 0 */
    int64_t replicas_timeout_ms;/* how long they have. Of a URL: replicas_timeout.
                                   Default 1000; at most a sixth of the
                                   watchdog's time */
    uint32_t locks_max;         /* different names in use. Default 1 Mi */
    uint32_t waiters_max;       /* calls under way, `done` included. Default
                                   1 Mi */
    size_t output_max;          /* bytes that wait to be sent. While there is no
                                   room, calls wait for it, first come first
                                   served. Default 64 MiB, least 192 KiB: the
                                   longest name fits */

    /* A line about what no call reports (a lost connection, a renewal refused), and
     * no callback: a hold without on_lost was lost.
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

    bool connect_once;          /* hf_client_connect tries once. Default false: it
                                   tries again until the connect timeout, for a
                                   server that is starting */
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
 *                     WAIT is not allowed. In a cluster that is its map, and the
 *                     master of slot 0.
 *                     HF_E_CONNECT, HF_E_TLS, HF_E_AUTH, HF_E_PROTOCOL,
 *                     HF_E_SERVER, HF_E_NOREPLY, HF_E_LIMIT, HF_E_NOMEM,
 *                     HF_E_FORKED, HF_E_CLOSED.
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
HF_API void hf_client_free(struct hf_client *client);

/* hf_client_close - lets a client run dry: to be called before hf_client_free
 *   where what is under way should not be cut off. From now on new calls end
 *   with HF_E_CLOSED, those of waiting for a lock that another holds, too, at
 *   once. What has been asked, and what is to be released, also in the
 *   background, has `timeout_ms` (0: none) to be answered; then it is cancelled
 *   with HF_E_CLOSED. A lock that is granted meanwhile, to a caller who could
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
    struct hf_link_stats link;  /* of all servers, and of those that are gone; in
                                   RESP2, messages come over other links */
    struct hf_loop_stats loop;  /* also of others that share it */
    struct hf_router_counts route;  /* how often commands went elsewhere */
};

/* hf_client_stats - a copy (2 KB); all 0 in a forked child. Any thread. */
HF_API void hf_client_stats(struct hf_client *client,
                            struct hf_client_stats *out);

/* ---- locks --------------------------------------------------------------- */

/* A handle on one name and kind. Handles on the same share everything. */
struct hf_lock;

/* Kinds of locks: those that we can take, and those that are only told from them
 * by what stands under their name. The latter are Redisson's, and are left alone.
 * A fair lock that nobody waits for looks like a plain one, and may be treated as
 * one; so do a non-reentrant and a fenced lock, plain ones for the server. */
enum hf_lock_kind {
    HF_KIND_NONE,               /* not locked */
    HF_KIND_PLAIN,              /* can be taken: reentrant, Redisson's RLock */
    HF_KIND_FAIR,               /* somebody waits in its queue */
    HF_KIND_READ,               /* a read-write lock: its readers hold it */
    HF_KIND_WRITE,              /* its writer does */
    HF_KIND_MULTI,              /* many values, locked as one */
    HF_KIND_NONREENTRANT,       /* can be taken: the owner of a hold is refused */
    HF_KIND_FENCED              /* can be taken: reentrant; hf_lock_token */
};
HF_API const char *hf_lock_kind_text(enum hf_lock_kind kind);

#define HF_LOCK_NAME_MAX (64 * 1024)

/* hf_lock_new - a plain lock. Its name has `len` bytes of any value, 1 to
 *   HF_LOCK_NAME_MAX, copied: the key itself (of Redisson's NameMapper, the mapped
 *   name). HF_E_INVAL, HF_E_NOMEM, HF_E_LIMIT, HF_E_FORKED. Does no I/O.
 * hf_lock_new_kind - likewise, a lock of a kind that can be taken; else
 *   HF_E_INVAL. A plain and a non-reentrant lock of one name exclude and wake each
 *   other, here and in other processes.
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

/* The name as given, and behind it a NUL, which it may contain, too; *len may be
 * NULL. Valid as long as the handle. */
HF_API const char *hf_lock_name(const struct hf_lock *lock, size_t *len);

/* An owner is a 64-bit number: of a thread, a task, a request. The same owner may
 * acquire a reentrant lock again (re-entry), and release from any thread, by the same number. So
 * two tasks that are to exclude each other need two numbers.
 *     0 is nobody: options that were only zeroed are refused (HF_E_INVAL).
 * -2^48 to -1 are given by the library. All others are for you to choose.
 * hf_owner_thread - the number of the calling thread, the default of calls that
 *   block. A forked child keeps that of the thread that forked.
 * hf_owner_new    - another number with each call, for a task. Keep it: releasing
 *   takes it.
 * Neither gives a number twice in the life of the process. */
HF_API int64_t hf_owner_thread(void);
HF_API int64_t hf_owner_new(void);

/* Why a hold was lost. */
enum hf_lost {
    HF_LOST_DELETED = 1,        /* the server knows no such lock any more */
    HF_LOST_TAKEN,              /* another holds it */
    HF_LOST_UNREACHABLE,        /* no good answer before the safe moment */
    HF_LOST_SUSPENDED,          /* we did not run when the safe moment passed */
    HF_LOST_LEASE_ENDED,        /* a hold with a lease was not released in time; or
                                   the shorter lease of a re-entry has ended
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
    char holder[192];           /* who holds: "uuid:number"; of several, one.
                                   Ends in NUL */
    enum hf_lock_kind kind;
    int64_t holders;            /* how many hold it; a reader that died counts
                                   until the lock is released */
};

/* Ends waits from elsewhere. The caller's memory; fired once, it stays fired
 * until it is initialised again, so a cancel before the call counts too. One
 * may serve many calls.
 * hf_cancel_init - for calls of this client; not while one of them has it.
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
    bool keep_unreplicated;     /* HF_UNREPLICATED leaves it held: to be released.
                                   Default: it is given back */

    /* Callbacks of the hold that this call makes; re-entries keep those of the
     * first. All may be NULL. `ctx` is handed to each; one that has begun may
     * still run when another thread's release returns, so what it points at
     * lives until then or, to be sure, until hf_client_free.
     * on_wait     another holds it: we begin to wait. Not called any more once
     *             the call has ended
     * on_renewed  the watchdog renewed it
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
};

/* hf_acquire_options_init - every default, the calling thread as the owner. */
HF_API void hf_acquire_options_init(struct hf_acquire_options *options);

/* hf_lock_acquire - takes the lock; or takes it once more, if it is reentrant.
 *   options   NULL: this thread, wait for ever, watchdog
 * Returns HF_OK          held; release as often as acquired
 *         HF_TIMEOUT     another held it when last heard of, and wait_ms is over
 *         HF_CANCELLED   cancel was fired
 *         HF_LOST        this owner's hold was lost, and is not given back yet:
 *                        answered at once, without asking the server, until
 *                        hf_lock_release was called as often as it was acquired.
 *                        A loop that tries again must do that first
 *         HF_UNREPLICATED  the server granted it, and too few replicas (options
 *                        of the client) have it in time: a failover might lose
 *                        it. Given back, unless keep_unreplicated
 *         HF_E_SERVER    the server refused (WRONGTYPE, OOM, READONLY, ...), or a
 *                        hash that is no lock has the name: it is left alone
 *         HF_E_CONNECT, HF_E_TLS, HF_E_AUTH, HF_E_PROTOCOL, HF_E_NOREPLY
 *                        no answer within the request timeout. Should the
 *                        server grant the lock after all, it is released in
 *                        the background. A re-entry that fails leaves the hold
 *                        as it was, but for its lease, which may be the shorter
 *         HF_E_INVAL     the options; or this owner holds a lock of that name that
 *                        it cannot acquire again: a non-reentrant one, or one of
 *                        another kind. It would wait for itself. Nothing is done,
 *                        and what it holds stays held
 *         HF_E_LIMIT, HF_E_NOMEM, HF_E_FORKED, HF_E_CLOSED
 *
 * What ends a call whose wait_ms is not 0, and what does not:
 *   the server grants the lock          HF_OK, HF_UNREPLICATED
 *   wait_ms is over                     HF_TIMEOUT if the server last answered that
 *                                       another holds it; else the error that has
 *                                       kept the server from answering
 *   `cancel` is fired                   HF_CANCELLED
 *   the client is closed                HF_E_CLOSED
 *   the server refuses the command,     HF_E_SERVER, HF_E_AUTH, HF_E_TLS
 *   the user or the certificate
 *   the server is unreachable, silent,  nothing, if it has answered this call, or one
 *   busy, loading or without its        of this client that waited for the lock
 *   cluster; output_max is reached      before it; else, after the request timeout,
 *                                       HF_E_CONNECT, HF_E_NOREPLY, HF_E_SERVER
 *   the grant comes when half of its    asked for again, three times at most; if the
 *   lease is over                       last one's lease has ended, HF_E_NOREPLY
 * A call whose wait_ms is 0 asks once, within the request timeout; once more, within
 * another one, if the grant came late or if a call of the same owner on the same
 * lock is under way. HF_E_LIMIT is waiters_max.
 * With replicas, an acquire may take replicas_timeout_ms longer. A re-entry and a
 * renewal do not wait for replicas. Acquires and releases share the connection on
 * which the server waits: while replicas do not answer, each acquire delays those
 * behind it for that long, and some end with HF_E_NOREPLY.
 * A release in the background is repeated until the server has answered it, or the
 * client is closed; at most 16384 are under way. A grant that was given up beyond
 * them, or that the server executes after its release, is released when another
 * acquire of this client is refused because of it; else it ends with its lease.
 * Cost: one command when uncontended.
 * Source: WIRE 6, 7, 8.1. */
HF_API hf_status hf_lock_acquire(struct hf_lock *lock,
                                 const struct hf_acquire_options *options,
                                 struct hf_error *err) HF_MUST_CHECK;

/* hf_lock_release - gives up one acquisition of `owner`; the last one frees the
 *   lock and wakes waiters. Whatever it returns, but where "nothing was done",
 *   the owner has one acquisition less, and does not release it again.
 * Returns HF_OK         one less. After an unknown outcome, asked again and
 *                       found gone: HF_OK if the hold was safe when it was first
 *                       asked, else HF_LOST; nobody can know more
 *         HF_NOT_OWNER  this client has no such hold: nothing was done
 *         HF_LOST       one less of a hold that had been lost; with the last one
 *                       it is forgotten
 *         HF_E_LIMIT, HF_E_FORKED, or HF_E_CLOSED from a client that was closed
 *                       before: nothing was done
 *         other HF_E_*  no answer, or the server refused. One less all the same.
 *                       If it was the last one, the hold is forgotten, never
 *                       renewed again, and released in the background or by its
 *                       TTL. If not, the hold goes on with those that are left:
 *                       renewed as before, its lease perhaps shorter; the next
 *                       call on it sets the server's count right
 * After it returns, no renewal of a hold that is given up is on the wire.
 * Source: WIRE 8.2. */
HF_API hf_status hf_lock_release(struct hf_lock *lock, int64_t owner,
                                 struct hf_error *err);

/* hf_lock_force_release - frees the lock, whoever holds it, and wakes waiters.
 *   holder, len   NULL: whoever; else only if it is held by this "uuid:number"
 * Returns HF_OK, HF_NOT_OWNER (not locked, or by another), HF_E_*:
 *         HF_E_INVAL     `holder` is not of that form: empty, too long, ...
 *         HF_E_SERVER    it is not a plain lock with one holder, but another kind
 *                        of Redisson's (the error says which), or no lock at all:
 *                        nothing is changed
 * The holder learns of it when it renews or releases.
 * Source: WIRE 8.3. */
HF_API hf_status hf_lock_force_release(struct hf_lock *lock, const char *holder,
                                       size_t len, struct hf_error *err);

/* hf_lock_inspect - asks the server how the lock stands. HF_E_SERVER: something
 *   else is kept under its name, which is no lock.
 * hf_lock_is_locked, hf_lock_remaining_ms (TTL; -1 none, -2 not locked): a part
 *   of it.
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

/* hf_lock_safe_ms - for how long the hold is certain to be ours, counted from
 *   now: our clock began before the server's, and a margin for drift is taken
 *   off. <= 0: do not touch what the lock protects. INT64_MIN: no such hold, it
 *   is lost, or its last release has begun. A re-entry, partial release or
 *   renewal whose lease is shorter than what is left counts from the moment it
 *   is handed out. No I/O; the first thing to ask after a pause. */
HF_API int64_t hf_lock_safe_ms(struct hf_lock *lock, int64_t owner);

/* hf_lock_token - the fencing token of a hold of a fenced lock: the number of its
 *   grant, greater than that of every grant of this lock before it, to Redisson's
 *   holders, too. Send it along with each change to what the lock protects, and let
 *   that refuse whatever comes with a smaller one than it has seen: then a holder
 *   that was stopped, and goes on after its lease has ended, does no harm.
 *     A re-entry keeps it (Redisson takes another); a lost hold has it until it is
 *   released. 0: no such hold, or one of another kind. No I/O.
 *     The server counts in redisson_lock_token:{name}, a key that stays for ever.
 *   Tokens begin anew where it is lost: by a server that does not persist it, or by
 *   a failover (see `replicas`). A plain lock of the same name excludes a fenced
 *   one, but takes no token: never use both kinds on one name.
 *   Source: WIRE 10. */
HF_API int64_t hf_lock_token(struct hf_lock *lock, int64_t owner);

/* hf_lock_owner_text - the owner field of a hold, "uuid:number", as the server
 *   knows it. dst has HF_OWNER_TEXT_MAX bytes; "" if there is no such hold. */
#define HF_OWNER_TEXT_MAX 76
HF_API char *hf_lock_owner_text(struct hf_lock *lock, int64_t owner,
                                char dst[HF_OWNER_TEXT_MAX]);

/* ---- without blocking ---------------------------------------------------- */

/* As the call of the same name; `done` is called once, with the status that the
 * blocking call would return, unless the function itself returns a failure: then
 * nothing was done (HF_E_INVAL, HF_E_NOMEM, HF_E_LIMIT, HF_E_FORKED, HF_E_CLOSED).
 * `err` is valid until `done` returns. `out` must live until then. */
typedef void hf_done(void *ctx, hf_status status, const struct hf_error *err);

/* An asynchronous acquire belongs to no thread, so `options` must name its owner:
 * a number of your own, or hf_owner_new(). HF_E_INVAL if they are NULL, or if the
 * owner is a thread's, which hf_acquire_options_init has set: all tasks of one
 * event loop would be one owner. hf_lock_release_async takes that owner again;
 * hf_lock_force_release_async and hf_lock_inspect_async need none. */
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
