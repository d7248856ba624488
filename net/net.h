/* What users of the library see of connections: errors, time, how a server is
 * named, TLS, the loop, and what a link counts and tells. Knows nothing of
 * locks.
 *
 * Threads: one loop has one lock (hf_loop_lock). Functions marked [locked] are
 * called with it held, and so are the callbacks of this floor. */
#ifndef HF_NET_H
#define HF_NET_H

#include <stdbool.h>

#include "resp/base.h"
#include "resp/resp.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- errors -------------------------------------------------------------- */

/* What this floor adds to the statuses (resp/base.h). Failures of the world, or
 * of the caller (HF_E_INVAL, HF_E_FORKED). */
#define HF_NET_STATUS_MAP(X)                                                  \
    X(HF_E_CONNECT, -100, "the server cannot be reached")                     \
    X(HF_E_TLS, -101, "TLS failed")                                           \
    X(HF_E_AUTH, -102, "the server refused the user or the password")         \
    X(HF_E_SERVER, -103, "the server answered with an error")                 \
    X(HF_E_NOMEM, -106, "out of memory")                                      \
    X(HF_E_INVAL, -107, "an argument is not valid")                           \
    X(HF_E_NOREPLY, -108, "no answer in time; the server may still do it")    \
    X(HF_E_FORKED, -110, "the client belongs to the parent process")          \
    X(HF_E_CLOSED, -111, "the client was closed")                             \
    X(HF_E_SYSTEM, -112, "the operating system refused")

enum { HF_NET_STATUS_MAP(HF_STATUS_ENUM) };

#define HF_ERROR_TEXT_MAX 512

/* What went wrong: the status, and one line with the address, the key and the
 * server's own words. Never a password. `text` ends in NUL, is cut where too
 * long, and is UTF-8 that a terminal shows and does not obey. */
struct hf_error {
    hf_status status;
    char text[HF_ERROR_TEXT_MAX];
};

/* ---- time ---------------------------------------------------------------- */

/* hf_clock_ms - milliseconds that go on while the machine is suspended
 * (CLOCK_BOOTTIME where there is one) and that no one sets. Any thread. */
HF_API int64_t hf_clock_ms(void);

#define HF_NEVER INT64_MAX

/* A timer is a field of what it belongs to: arming one cannot fail. 32 bytes
 * or less. */
struct hf_timer {
    struct hf_timer *next;
    struct hf_timer **link;   /* what points at us; NULL: not armed */
    int64_t due_ms;
    void (*fire)(struct hf_timer *timer);
};

/* ---- histograms ---------------------------------------------------------- */

/* How numbers are spread: microseconds, requests of a write. Of a fixed size,
 * log-linear: below 8 each number has a bucket of its own, from there on each
 * power of two has four. What is over 2^32 - 1 (71 minutes, in microseconds)
 * counts as that. All zeros is an empty one. */
#define HF_HISTOGRAM_BUCKETS 124
struct hf_histogram {
    uint64_t count;             /* of numbers; `sum` and `max` are theirs */
    uint64_t sum;
    uint64_t max;
    uint64_t buckets[HF_HISTOGRAM_BUCKETS];
};

/* hf_histogram_add      - one number more. A few ns, without a branch.
 * hf_histogram_merge    - what `from` holds is in `to`, too.
 * hf_histogram_quantile - that many of them (0.99: of 100, 99) are not above
 *   what is returned: the greatest number of a bucket, never over `max`. So it
 *   is never too small, and too great by less than a quarter. 0: there are
 *   none. `q` is taken for 0 or 1 if it lies outside. Any thread, all pure. */
HF_API void hf_histogram_add(struct hf_histogram *h, uint64_t number);
HF_API void hf_histogram_merge(struct hf_histogram *to,
                               const struct hf_histogram *from);
HF_API uint64_t hf_histogram_quantile(const struct hf_histogram *h, double q);

/* ---- servers ------------------------------------------------------------- */

/* A URL says where a server is, the login, and how to speak to it:
 *
 *     redis://[[user]:password@]host[:port][/database][?option]
 *     rediss://                                        likewise, with TLS
 *     unix://[[user]:password@]/path[?option]
 *     redis+cluster://[[user]:password@]host[:port],host[:port]...[/][?option]
 *     redis+sentinel://[[user]:password@]host[:port],.../master[/database][?..]
 *
 * valkey:// is taken for redis:// and valkeys:// for rediss://, also in front
 * of +cluster and +sentinel; redis+unix:// and redis-socket:// for unix://.
 * unix:@name is an abstract socket (unix:///path is a file always).
 * Percent-decoded, path and options' text too; host in brackets if IPv6, its
 * zone behind "%25"; default port 6379, of sentinels 26379; no default host,
 * and HF_SEEDS_MAX at most. `:@` is as if not there. User and password are
 * those of the servers; a sentinel has its own, or none. A cluster has database
 * 0 alone. Options are joined by '&', each once, none empty:
 *
 *     db=N  protocol=2|3  client_name=NAME
 *     connect_timeout=TIME  timeout=TIME      500ms, 5s, 2m; a bare number is
 *                                             s; from 1ms to a day
 *     replicas=N|majority|all  replicas_timeout=TIME
 *     with redis+cluster://
 *     sharded=auto|on|off|both   messages by SPUBLISH: WIRE 5.1. Default auto.
 *                                both: published and listened to both ways
 *     with redis+sentinel://
 *     sentinel_user=NAME  sentinel_password=TEXT
 *     with rediss:// and its like
 *     tls_ca=FILE  tls_ca_dir=DIR  tls_crl=FILE  tls_cert=FILE  tls_key=FILE
 *     tls_key_password=TEXT  tls_sni=NAME  tls_ciphers=LIST
 *     tls_ciphersuites=LIST  tls_alpn=NAME  tls_verify=yes|no
 *
 * FILE, TEXT, LIST: any bytes but NUL; NAME: printable ASCII without spaces (a
 * server takes no other). All as long as their fields. An '@' in an option is
 * written %40 (but with unix:).
 * Source: IANA "redis" scheme registration; RFC 3986; RFC 6874. */
#define HF_URL_PASSWORD_MAX 4096   /* tokens of cloud providers have up to 3 KB */
#define HF_URL_TEXT_MAX 512
#define HF_URL_FILE_MAX 256
#define HF_SEEDS_MAX 16

/* How to speak TLS. Text is "" if not given. */
struct hf_tls_options {
    char ca_file[HF_URL_FILE_MAX];     /* PEM. Neither this nor ca_dir: the
                                          system's */
    char ca_dir[HF_URL_FILE_MAX];      /* as c_rehash(1) makes it */
    char crl_file[HF_URL_FILE_MAX];    /* PEM: what is revoked is refused */
    char cert_file[HF_URL_FILE_MAX];   /* ours, PEM, its chain behind it */
    char key_file[HF_URL_FILE_MAX];    /* "": it is in cert_file */
    char key_password[HF_URL_TEXT_MAX];/* of an encrypted key */
    char server_name[256];             /* checked and sent in place of the host */
    char ciphers[HF_URL_FILE_MAX];     /* TLS 1.2: OpenSSL's cipher list */
    char ciphersuites[HF_URL_FILE_MAX];/* TLS 1.3 */
    char alpn[64];                     /* the one protocol to ask for */
    bool is_unverified;                /* any certificate will do: a machine in
                                          between can read and change all */
};

/* hf_tls_library - what TLS is built in with ("OpenSSL 3.0.17"); NULL: it is
 *   not, and rediss:// is an error. */
HF_API const char *hf_tls_library(void);

/* How many replicas: all that its server has at that moment (ROLE, asked in the
 * same write), and in a cluster no fewer than the map has; as many as make a
 * majority together with the server itself. One at least: a server that has
 * none left grants nothing. One that is away is not counted, but by a map that
 * does not know it yet: to be sure of it, give a number. For a failover, give the
 * number of all replicas: with fewer, a replica that the old master keeps may
 * confirm a lock that the promoted replica does not have. */
#define HF_REPLICAS_ALL (-1)
#define HF_REPLICAS_MAJORITY (-2)

/* ---- the loop ------------------------------------------------------------ */

/* A loop owns a poller and a wheel, and serves what is registered. At most one
 * thread at a time *drives* it: waits for events and handles them. A thread that
 * waits for a reply drives if none does; the background thread drives when
 * no caller does and there is something to hear. */
struct hf_loop;

struct hf_loop_options {
    const struct hf_mem *mem;   /* NULL: libc. Borrowed until hf_loop_free */
    bool thread;                /* drive from a background thread */
};

/* hf_loop_new  - HF_E_NOMEM, HF_E_SYSTEM (errno); *out is set only on HF_OK.
 * hf_loop_free - takes NULL. Everything registered must be gone. Stops the
 *                thread. Not from a callback. */
HF_API hf_status hf_loop_new(struct hf_loop **out,
                             const struct hf_loop_options *options)
    HF_MUST_CHECK;
HF_API void hf_loop_free(struct hf_loop *loop);

/* To drive a loop from one other event loop (examples/loop_epoll.c, loop_uv.c,
 * loop_event.c):
 *
 * hf_loop_fd       - a descriptor that is readable when there is something to
 *                    do; the same as long as the loop lives. To be watched
 *                    level-triggered, for a dispatch may leave some of it to
 *                    the next; not to be read or closed; to be forgotten before
 *                    the loop is freed. -1 in a build with poll(2), which has
 *                    none to give: let a thread drive.
 * hf_loop_timeout  - ms until hf_loop_dispatch must be called even so; 0: now;
 *                    -1: never. May be too early. To be asked before each wait;
 *                    or once at first and after each dispatch. A call, of any
 *                    thread, that brings the time forward in between makes
 *                    hf_loop_fd readable.
 * hf_loop_dispatch - waits up to `timeout_ms` (0: not; -1: until there is
 *                    something) and handles what is ready and due, callbacks
 *                    included: one turn. Any thread, not from a callback. */
HF_API int hf_loop_fd(const struct hf_loop *loop);
HF_API int hf_loop_timeout(struct hf_loop *loop);
HF_API void hf_loop_dispatch(struct hf_loop *loop, int timeout_ms);

/* hf_loop_stats - what its threads did since it was made; all 0 in a forked
 *   child. Any thread, not [locked]. */
struct hf_loop_stats {
    uint64_t turns;
    uint64_t waits;             /* turns that slept in the poller */
    uint64_t wakeups;           /* such sleeps that another thread ended */
    uint64_t seats_passed;      /* by the driving thread to another one */
    uint64_t sleeps;            /* of blocked callers, while another drove */
};
HF_API void hf_loop_stats(struct hf_loop *loop, struct hf_loop_stats *out);

/* hf_loop_lock   - takes the loop's lock.
 * hf_loop_unlock - does what was put off to the end of the turn, then gives the
 *                  lock up. */
HF_API void hf_loop_lock(struct hf_loop *loop);
HF_API void hf_loop_unlock(struct hf_loop *loop);

/* hf_loop_arm, hf_loop_disarm - a timer of this loop; fires [locked]. */
HF_API void hf_loop_arm(struct hf_loop *loop, struct hf_timer *timer,
                        int64_t due_ms);
HF_API void hf_loop_disarm(struct hf_loop *loop, struct hf_timer *timer);

/* A descriptor that is watched. `ready` is called [locked] with what of
 * HF_READ and HF_WRITE applies; an error or hang-up counts as both. */
enum { HF_READ = 1, HF_WRITE = 2 };
struct hf_io {
    int fd;
    int events;
    void (*ready)(struct hf_io *io, int events);
    uint32_t index;             /* the loop's own */
};

/* hf_loop_watch   - starts; fd, events and ready are set. HF_E_NOMEM,
 *                   HF_E_SYSTEM. [locked]
 * hf_loop_rewatch - io->events has become `events`. [locked]
 * hf_loop_unwatch - ends; before the descriptor is closed. [locked] */
HF_API hf_status hf_loop_watch(struct hf_loop *loop, struct hf_io *io)
    HF_MUST_CHECK;
HF_API void hf_loop_rewatch(struct hf_loop *loop, struct hf_io *io, int events);
HF_API void hf_loop_unwatch(struct hf_loop *loop, struct hf_io *io);

/* ---- links --------------------------------------------------------------- */

/* How a request ended. Every request ends in exactly one of these, once. */
enum hf_outcome {
    HF_ANSWERED,     /* the reply is here; it may be an error reply */
    HF_UNSENT,       /* no byte left this process: safe to send again */
    HF_UNKNOWN       /* bytes left, or were about to, and no answer came: the
                        server may have done it, or may do it yet */
};

/* What a link traces, as it happens; with each, the fields that hold more. All that
 * they point at is valid until the callback returns. */
enum hf_trace_kind {
    HF_TRACE_CONNECTED,         /* READY: protocol */
    HF_TRACE_LOST,              /* not any more, or the attempt failed: why */
    HF_TRACE_GREETING,          /* a command of the handshake: argv */
    HF_TRACE_GREETED,           /* its reply, or why that is not told */
    HF_TRACE_QUEUED,            /* a request: number, argv */
    HF_TRACE_ENDED,             /* number, outcome; if answered, reply, latency */
    HF_TRACE_LATE,              /* to one that was given up: number, reply */
    HF_TRACE_PUSH               /* reply */
};

struct hf_trace {
    enum hf_trace_kind kind;
    const char *address;
    uint64_t number;            /* in the order of all requests of the link, from
                                   1; one that was never sent may have lent its
                                   number to the next */
    const struct hf_resp_arg *argv; /* whole, a script's text, too; but for the
                                   passwords of AUTH and HELLO: "(secret)" */
    size_t argc;
    enum hf_outcome outcome;
    struct hf_resp_value reply;
    uint32_t latency_us;        /* from the write to the read */
    int protocol;
    const char *why;
};

/* hf_trace_text - a trace as one line for a person, without a newline and at
 *   most HF_TRACE_TEXT_MAX - 1 long, as in
 *   "127.0.0.1:6379 #12 > EVALSHA 5f.. 1 name".
 *   UTF-8 as it is, all else as \xHH; arguments are cut, and so is the line,
 *   with "..." to show it. Returns dst. Pure. */
#define HF_TRACE_TEXT_MAX 512
HF_API char *hf_trace_text(char dst[HF_TRACE_TEXT_MAX],
                           const struct hf_trace *trace);

/* What a link has done since it was made, and how it stands. At any time
 *     requests = answered + unsent + unknown + those whose end is to come. */
struct hf_link_stats {
    /* Connections. */
    uint64_t connects;          /* times READY */
    uint64_t failures;          /* attempts that did not get there */
    uint64_t losses;            /* READY ones that ended */
    uint64_t resumed;           /* handshakes of TLS that resumed a session */

    /* On the wire; the greeting's included. */
    uint64_t writes;            /* system calls */
    uint64_t reads;
    uint64_t bytes_out;
    uint64_t bytes_in;

    /* Requests, by outcome. */
    uint64_t requests;          /* that were taken */
    uint64_t answered;
    uint64_t error_replies;     /* of these */
    uint64_t unsent;
    uint64_t unknown;
    uint64_t given_up;          /* of unsent and unknown: at their deadline, or
                                   cancelled */
    uint64_t late_replies;      /* to those: dropped */
    uint64_t pushes;

    /* Now, and at most so far. */
    uint64_t in_flight;         /* written, not answered */
    uint64_t in_flight_max;
    uint64_t queued;            /* not written yet */
    uint64_t queued_bytes;      /* of them, and of what the kernel did not take */

    /* From the write that carried a request to the read that brought its reply,
     * late ones included; and how many requests a write carried. */
    struct hf_histogram latency_us;
    struct hf_histogram batch;
};

/* How often commands went elsewhere. */
struct hf_router_counts {
    uint64_t moved;             /* redirections followed */
    uint64_t asked;
    uint64_t refreshes;         /* times the map was asked for */
    uint64_t maps;              /* times it changed */
    uint64_t resent;            /* commands that changed servers unsent */
    uint32_t servers;           /* with a link, now */
};

#ifdef __cplusplus
}
#endif
#endif
