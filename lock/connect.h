/* The client: the connection of a program to its servers. Part of holdfast (lock.h).
 *
 * Callbacks (on_lost, on_renewed, on_wait, done, log) run in the loop's background
 * thread, or in the thread that calls hf_loop_dispatch. No other function calls them, not
 * even a blocking call that waits for its own reply. Therefore a callback may lock a mutex
 * that the program holds during a blocking call, and a slow callback delays no call.
 * Without a background thread, callbacks wait until hf_loop_dispatch is called; a blocking
 * call wakes the thread that dispatches, or the event loop that watches hf_loop_fd.
 * hf_client_close and hf_client_free wait until all pending callbacks have returned;
 * without a background thread, they call them, hf_client_close also while it waits.
 *     Callbacks run one at a time, on_lost before all others, and without a lock of the
 * library. A callback may call every function, also a blocking one, except those
 * whose comment forbids it (hf_client_free, hf_client_close, ...). It should return soon:
 * meanwhile no other callback runs, and holds are renewed only if another thread drives the
 * loop. A callback that takes longer than a third of watchdog_ms may cause the loss of holds.
 * It must return: an exception of C++ that leaves it ends the program (std::terminate).
 *     A callback may fork. In the child no other callback runs. If the callback returns in
 * the child, hf_loop_dispatch and other calls return; the child's copy of the background
 * thread ends, and with it the child, unless it has other threads. The child's thread
 * blocks the same signals as the thread that created the loop. The background thread
 * blocks all signals; a program that a callback starts there by posix_spawn() or system()
 * inherits that. */
#ifndef HF_CONNECT_H
#define HF_CONNECT_H

#include <stdbool.h>

#include "net/credentials.h"
#include "net/net.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A client has one UUID and one watchdog, as a Redisson instance has, and one connection to
 * each server (two with RESP2, and one more with replicas). Threads share it. */
struct hf_client;

/* What a log line is about. */
enum hf_log_level {
    HF_LOG_ERROR,               /* a person must act, also if nothing fails: two masters */
    HF_LOG_WARNING,             /* something failed, or a server refused it */
    HF_LOG_INFO                 /* a connection was lost; the client connects again */
};

/* The smallest token_retention_ms. Requests are repeated for a much shorter time, and the
 * clocks of servers differ by much less. */
#define HF_TOKEN_RETENTION_LEAST_MS INT64_C(60000)

/* Maximum total length of the options set by name: names and percent-encoded values, in
 * bytes. */
#define HF_CLIENT_WORDS_MAX 2048

/* A URL may also contain the user, password, name, protocol, TLS options, timeouts and
 * replicas. A member here that is not NULL or 0 takes precedence over the URL, and the URL
 * over the default. */
struct hf_client_options {
    size_t size;                /* set by hf_client_options_init: net/version.h */
    const char *url;            /* net.h describes URLs. NULL: redis://127.0.0.1:6379 */
    char words[HF_CLIENT_WORDS_MAX];    /* private: written only by hf_client_options_set */
    const char *user;
    const char *password;
    /* Called before each connection to a server or sentinel, in place of `user` and
     * `password`, for passwords that change: tokens, rotated secrets. It returns
     *   HF_OK                 *out is filled in. Its texts are copied when the callback
     *                         returns; what is NULL there comes from the URL or options
     *   HF_CREDENTIALS_LATER  hf_client_answer_credentials follows, from any thread, even
     *                         before the callback has returned
     *   another status        there are no credentials now; *err says why. A temporary failure:
     *                         the client retries, with backoff, while a request
     *                         or a hold needs the connection
     * It is called with the loop's lock held, by any thread that drives the loop: it must
     * return soon and may call no function of holdfast. At most one credentials query per
     * connection is without an answer. If none comes within connect_timeout_ms, the
     * attempt to connect fails, and the next attempt waits for the same answer, which may
     * come late. After hf_client_free no answer is due, or allowed.
     *     If the server refuses the credentials (WRONGPASS), the client calls the callback
     * again, with backoff, within the deadline of each request; holds stay held until their
     * TTL ends. The refusal is final (HF_E_AUTH) only if the server has never accepted
     * credentials and the answer is the same again. */
    hf_status (*credentials)(void *ctx, const struct hf_credentials_query *query,
                             struct hf_credentials *out, struct hf_error *err);
    void *credentials_ctx;
    const char *name;           /* for CLIENT SETNAME; default "holdfast" */
    int protocol;               /* 3 (falls back to RESP2) or 2. Default 3 */
    int sentinel_tls;           /* TLS at the sentinels alone: 1 yes, -1 no; 0: as the URL
                                   has it (sentinel_tls), else as at the servers */
    const struct hf_tls_options *tls;   /* each member takes precedence by itself. For
                                           URLs with TLS only */

    struct hf_loop *loop;       /* NULL: the client creates a loop. Borrowed until
                                   hf_client_free */
    bool thread;                /* a background thread also drives the client's own loop.
                                   Default true. Without it, callbacks need
                                   hf_loop_dispatch, and so does the watchdog while no
                                   call blocks */
    bool connect_once;          /* hf_client_connect tries once. Default false: it retries
                                   until the connect timeout, for a server that starts */
    const struct hf_mem *mem;   /* NULL: libc. Borrowed until hf_client_free; ignored if
                                   `loop` is given, whose allocator is used */

    int64_t connect_timeout_ms; /* of one attempt, and of hf_client_connect as a whole,
                                   the search for a master included. If an attempt makes no
                                   progress for a while and requests wait, another one
                                   begins beside it. Default 5000 */
    int64_t request_timeout_ms; /* how long a request may remain without a reply, its
                                   repetitions included; `timeout` in the URL. Default
                                   5000 */
    int64_t idle_check_ms;      /* a connection over which nothing was received for this
                                   time is sent PING, and the next request after the
                                   reply, because a firewall or proxy may have forgotten
                                   the connection; `idle_check` in the URL. Default
                                   30000 */
    int64_t watchdog_ms;        /* lease of a hold without lease_ms, which is renewed after
                                   each third of it. Default 30000, at least 100 */
    int replicas;               /* how many replicas must confirm an acquired lock, and
                                   each change of a semaphore or latch: a number,
                                   HF_REPLICAS_ALL or HF_REPLICAS_MAJORITY. Default 0 */
    int64_t replicas_timeout_ms;/* for their confirmation. At most a sixth of watchdog_ms.
                                   Default 1000, or that sixth if it is less */
    int64_t token_retention_ms; /* how long the token counter of a lock is kept after its
                                   last grant: docs/fencing.md. 0 (default): forever;
                                   else at least HF_TOKEN_RETENTION_LEAST_MS */
    uint32_t locks_max;         /* different names in use. Default 1 Mi */
    uint32_t waiters_max;       /* pending calls, including those whose `done` was not
                                   called yet. Default 1 Mi */
    size_t output_max;          /* bytes that may be queued for sending. Calls that exceed
                                   it wait in order of arrival. Default 64 MiB, at least
                                   192 KiB; raised to the longest command (about
                                   400 KiB) if it is less */

    /* Receives a line about each event that no call and no callback reports: a lost
     * connection, a refused renewal, a lost hold without on_lost. It is called as the
     * other callbacks. At most 256 lines are queued; further ones are counted in a line
     * that follows. NULL: no log. */
    void (*log)(void *ctx, enum hf_log_level level, const char *line);
    void *log_ctx;

    /* Receives every command and its reply, of all connections, without passwords;
     * hf_trace_text formats it as a line. It is called with the loop's lock held and may
     * call only hf_trace_text and hf_resp_*. NULL: no trace. */
    void (*trace)(void *ctx, const struct hf_trace *trace);
    void *trace_ctx;

    /* The address at which to reach a server that another server announced: in a slot
     * map, a redirection, or the reply of a sentinel. For servers behind NAT. It gets
     * the announced address in `host` (without brackets) and `port`, and overwrites it
     * or leaves it unchanged. A result that is not spelled like an address is ignored.
     * If it leaves the address unchanged, the URL's map applies. TLS verifies the
     * resulting host. Not called for addresses of the URL.
     *   It is called with the loop's lock held, by any thread that drives the loop,
     * each time an announced address is read: it must return at once and call no
     * function of this library. `map_address_ctx` is borrowed until hf_client_free.
     * NULL: only the URL's map. */
    void (*map_address)(void *ctx, char host[HF_HOST_MAX + 1], uint16_t *port);
    void *map_address_ctx;

    /* Text for people that says who holds the locks of this client, such as "web3 4711
     * backup"; label.h describes the requests that it causes. 1 to HF_LABEL_MAX bytes of
     * UTF-8 without control characters, which are copied. NULL: `label` of the URL, if it is
     * set; "": no label. */
    const char *label;
};

/* hf_client_options_init_sized - sets `size`, and the defaults of the members that a struct
 *   of this size has. For languages that do not read this header: a struct that is larger
 *   than the library's, such as 4096 bytes with the alignment of malloc, is allowed. */
HF_API void hf_client_options_init_sized(struct hf_client_options *options, size_t size);

/* hf_client_options_init - sets the defaults. */
static inline void hf_client_options_init(struct hf_client_options *options)
{
    hf_client_options_init_sized(options, sizeof *options);
}

/* hf_client_options_set - sets an option by its name, for languages that do not read this
 *   header, and for configuration files. The text is copied.
 *   name    an option of URLs (net.h), such as "timeout" or "tls_ca"; or "url", "user",
 *           "password", "watchdog" or "ttl" (watchdog_ms, as a time: "30s")
 *   value   as in a URL, but without percent-encoding. NULL: the option is no longer set
 *   It takes precedence over the same option in the URL; the members of the struct take
 *   precedence over it, except watchdog_ms. `map` may be set several times.
 * Returns HF_OK
 *         HF_E_INVAL  there is no such option (the error names the one that was probably
 *                     meant), the value is wrong, or *options was not initialised.
 *                     hf_client_new, not this function, reports an option that this kind
 *                     of URL does not have
 *         HF_E_LIMIT  together they would be longer than HF_CLIENT_WORDS_MAX
 *         HF_E_NOMEM  */
HF_API hf_status hf_client_options_set(struct hf_client_options *options, const char *name,
                                       const char *value, struct hf_error *err);

/* hf_client_new - creates a client, without I/O: the first call that needs a server
 *   connects. The options and their texts are copied. It returns HF_E_INVAL (the URL or
 *   an option), HF_E_TLS (a TLS file), HF_E_NOMEM, HF_E_SYSTEM, HF_E_FORKED (the loop
 *   belongs to the parent process). */
HF_API hf_status hf_client_new(struct hf_client **out,
                               const struct hf_client_options *options,
                               struct hf_error *err) HF_MUST_CHECK;

/* hf_client_new_url - as hf_client_new with the default options and this URL. */
HF_API hf_status hf_client_new_url(struct hf_client **out, const char *url,
                                   struct hf_error *err) HF_MUST_CHECK;

/* hf_client_answer_credentials - gives the answer to a credentials query for which the
 *   callback returned HF_CREDENTIALS_LATER.
 *   credentials  copied; NULL: there are no credentials now, and `why` (a line; NULL is
 *                allowed) goes into the error
 * It returns HF_OK, HF_E_INVAL (the query has an answer, its connection was freed, or a
 * text is too long, and then the query remains without an answer), HF_E_FORKED. Any
 * thread, but not from the callback `credentials`. */
HF_API hf_status hf_client_answer_credentials(struct hf_client *client, uint64_t id,
                                              const struct hf_credentials *credentials,
                                              const char *why);

/* hf_client_connect - waits until the server is ready, at most the connect timeout. It
 *   reports errors before the first lock needs the server; with replicas, also if the user
 *   may not call WAIT. With connect_once it ends when one attempt has failed at every
 *   address of the server; with several hosts in the URL, at every known server. In a
 *   cluster it reads the map and connects to the master of slot 0. It returns
 *   HF_E_CONNECT, HF_E_TLS, HF_E_AUTH, HF_E_PROTOCOL, HF_E_SERVER, HF_E_NOREPLY,
 *   HF_E_LIMIT, HF_E_NOMEM, HF_E_FORKED, HF_E_CLOSED. */
HF_API hf_status hf_client_connect(struct hf_client *client,
                                   struct hf_error *err);

/* hf_client_reload - reads the TLS files again: certificate, key, CAs, revocation lists.
 *   Connections that are made later use them; existing ones stay open. The files are taken
 *   together or not at all: if one cannot be read, or the key does not match the
 *   certificate, the old contents stay in use, and *err names the option, the file and
 *   OpenSSL's reason. A session of an earlier connection is not resumed, so that the new
 *   CAs judge every certificate. The password of the key remains that of the options.
 *   Without TLS there is nothing to read, and it returns HF_OK; passwords have their own
 *   callback (`credentials`). It waits for the files only, and other threads renew
 *   meanwhile. Any thread, but not from callbacks with the loop's lock held (`credentials`,
 *   `trace`, `map_address`). It returns HF_E_TLS, HF_E_NOMEM, HF_E_FORKED. */
HF_API hf_status hf_client_reload(struct hf_client *client, struct hf_error *err);
struct hf_lock;

/* hf_lock_connect - as hf_client_connect, for the server of the lock's slot. */
HF_API hf_status hf_lock_connect(struct hf_lock *lock, struct hf_error *err);

/* hf_client_free - frees the client and its locks. Pending calls end with HF_E_CLOSED, and
 *   each hold is lost (HF_REASON_CLOSED). Nothing is released on the server: holds expire
 *   with their TTL. No other call may run during or after it, and it must not be called
 *   from a callback. NULL is allowed. In a forked child it does nothing, because the
 *   client belongs to the parent. */
HF_API void hf_client_free(struct hf_client *client);

/* What hf_client_close did. */
struct hf_client_closed {
    size_t size;                /* number of bytes that the library filled in: net/version.h */
    uint64_t finished;          /* calls and background releases that had a reply */
    uint64_t cancelled;         /* calls and background releases that had no effect on the
                                   server: not sent, or waiting for a lock */
    uint64_t unknown;           /* calls that the server may have executed */
    uint64_t holds;             /* still held: they expire with their TTL */
};

/* hf_client_close - drains the client; call it before hf_client_free if pending requests
 *   should not be cut off. New calls, and calls that wait for a lock, end at once with
 *   HF_E_CLOSED. Requests that were sent, and releases, background ones included, may end
 *   within `timeout_ms` (0: no time), and are then cancelled with HF_E_CLOSED. A lock that
 *   is granted meanwhile is released, because its caller could no longer do so. Holds
 *   remain, and are renewed, until hf_client_free. All callbacks of ended calls have been
 *   called when it returns. It does not end an hf_client_connect in another thread. It
 *   must not be called from a callback.
 *   out         receives the counts; NULL is allowed
 * Returns HF_OK         nothing was pending at the end
 *         HF_E_NOREPLY  a request was cancelled that the server may have executed
 *         HF_E_SERVER   only background releases were cancelled, which the server refused
 *         HF_E_CONNECT  requests were cancelled; none of them had been sent
 *         HF_E_CLOSED   the client was closed before
 *         HF_E_INVAL, HF_E_FORKED */
HF_API hf_status hf_client_close_sized(struct hf_client *client, int64_t timeout_ms,
                                       struct hf_client_closed *out, size_t size,
                                       struct hf_error *err);
static inline hf_status hf_client_close(struct hf_client *client, int64_t timeout_ms,
                                        struct hf_client_closed *out,
                                        struct hf_error *err)
{
    return hf_client_close_sized(client, timeout_ms, out, sizeof *out, err);
}

/* hf_client_uuid - returns the UUID (36 characters) with which the owners of this client
 *   begin on the server. */
HF_API const char *hf_client_uuid(const struct hf_client *client);

/* hf_client_loop - returns the loop of the client, for hf_loop_fd, hf_loop_timeout and
 *   hf_loop_dispatch. */
HF_API struct hf_loop *hf_client_loop(struct hf_client *client);

/* hf_client_address - returns the address for messages, such as "127.0.0.1:6379". */
HF_API const char *hf_client_address(const struct hf_client *client);

struct hf_client_stats {
    size_t size;                /* number of bytes that the library filled in: net/version.h */
    uint64_t holds;             /* at this moment */
    uint64_t waiters;           /* pending calls */
    uint64_t orphans;           /* pending background releases (hf_lock_acquire) */
    uint64_t renewals;          /* renewed holds, since the client was created */
    uint64_t renewal_requests;  /* commands that renewed them */
    struct hf_link_stats link;  /* of all servers, former ones included. With RESP2 the
                                   connections of subscriptions are not included */
    struct hf_loop_stats loop;  /* includes other clients of the loop */
    struct hf_router_counts route;  /* redirections and changes of the map */
    uint64_t pushes;            /* tracking=on (docs/guarantees.md): reports of changed keys */
    uint64_t push_checks;       /* checks of holds because of them, or of a new connection */
    uint64_t push_losses;       /* losses that such a check found */
    uint64_t push_wakes;        /* requests of waiters because of a push or a new connection */
};

/* hf_client_get_stats - copies the counts (2 KB) to *out; all 0 in a forked child. */
HF_API void hf_client_get_stats_sized(struct hf_client *client,
                                      struct hf_client_stats *out, size_t size);
static inline void hf_client_get_stats(struct hf_client *client,
                                       struct hf_client_stats *out)
{
    hf_client_get_stats_sized(client, out, sizeof *out);
}

#ifdef __cplusplus
}
#endif
#endif
