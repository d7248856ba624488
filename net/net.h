/* What a program sees of connections: errors, time, URLs, TLS options, the event loop,
 * and the counters and trace of connections. Part of holdfast (lock/lock.h), but without
 * locks.
 *
 * Threads: a loop has one lock (hf_loop_lock). A function marked [locked] must be called
 * with that lock held, and callbacks of this layer are called with it. */
#ifndef HF_NET_H
#define HF_NET_H

#include <stdbool.h>

#include "net/version.h"
#include "resp/resp.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- errors -------------------------------------------------------------- */

/* The statuses of this layer: errors of the environment or of the caller (HF_E_INVAL,
 * HF_E_FORKED). resp/base.h defines the others. */
#define HF_NET_STATUS_MAP(X)                                                  \
    X(HF_E_CONNECT, -100, "the server cannot be reached")                     \
    X(HF_E_TLS, -101, "TLS failed")                                           \
    X(HF_E_AUTH, -102, "the server refused the user or the password")         \
    X(HF_E_SERVER, -103, "the server replied with an error")                  \
    X(HF_E_NOMEM, -106, "out of memory")                                      \
    X(HF_E_INVAL, -107, "invalid argument")                                   \
    X(HF_E_NOREPLY, -108, "no reply in time; the server may still execute the request") \
    X(HF_E_FORKED, -110, "the client belongs to the parent process")          \
    X(HF_E_CLOSED, -111, "the client was closed")                             \
    X(HF_E_SYSTEM, -112, "a system call failed")

enum { HF_NET_STATUS_MAP(HF_STATUS_ENUM) };

#define HF_ERROR_TEXT_MAX 512

/* An error: its status, and one line with the address, key and server's message, never a
 * password. `text` ends in NUL, is cut if too long, and is UTF-8 without control characters. */
struct hf_error {
    hf_status status;
    bool is_temporary;          /* with HF_E_SERVER: the server refuses for now; a
                                   later call may succeed (OOM, READONLY, ...) */
    bool reserved_flags[3];     /* for later versions; false */
    int64_t member;             /* multi.h: 1 and the index of the member; 0: none */
    int64_t reserved[2];        /* for later versions; 0 */
    char text[HF_ERROR_TEXT_MAX];
};

/* ---- time ---------------------------------------------------------------- */

/* hf_clock_ms - returns the time in milliseconds of a clock that cannot be set and that
 *   advances while the machine is suspended (CLOCK_BOOTTIME where it exists). Any thread. */
HF_API int64_t hf_clock_ms(void);

#define HF_NEVER INT64_MAX

/* A timer is a field of the object that uses it, so arming it cannot fail. */
struct hf_timer {
    struct hf_timer *next;
    struct hf_timer **link;     /* the pointer to this timer; NULL: not armed */
    int64_t due_ms;
    void (*fire)(struct hf_timer *timer);
};

/* ---- histograms ---------------------------------------------------------- */

/* The distribution of numbers such as microseconds. It has a fixed size: each number below
 * 8 has a bucket, and each power of two above has four. A number greater than 2^32 - 1 (71
 * minutes in microseconds) counts as 2^32 - 1. All zeros is an empty histogram. */
#define HF_HISTOGRAM_BUCKETS 124
struct hf_histogram {
    uint64_t count;             /* how many numbers were added */
    uint64_t sum;
    uint64_t max;
    uint64_t buckets[HF_HISTOGRAM_BUCKETS];
};

/* hf_histogram_add - adds one number, in a few nanoseconds. */
HF_API void hf_histogram_add(struct hf_histogram *h, uint64_t number);

/* hf_histogram_merge - adds all numbers of `from` to `to`. */
HF_API void hf_histogram_merge(struct hf_histogram *to, const struct hf_histogram *from);

/* hf_histogram_quantile - returns an upper bound of quantile `q` (0.99: 99 of 100 numbers
 *   are not greater). It is never too low, less than 25 % too high, and never above `max`.
 *   It is 0 for an empty histogram. A `q` outside of 0 to 1 counts as 0 or 1. */
HF_API uint64_t hf_histogram_quantile(const struct hf_histogram *h, double q);

/* ---- servers ------------------------------------------------------------- */

/* A URL contains the address of a server, the login and options:
 *
 *     redis://[[user]:password@]host[:port][,host[:port]...][/database][?option]
 *     rediss://                                        the same with TLS
 *     unix://[[user]:password@]/path[?option]
 *     redis+cluster://[[user]:password@]host[:port],host[:port]...[/][?option]
 *     redis+sentinel://[[user]:password@]host[:port],.../master[/database][?..]
 *
 * valkey:// and valkeys:// are accepted for redis:// and rediss://, also before +cluster
 * and +sentinel; redis+unix:// and redis-socket:// are accepted for unix://. unix:@name is
 * an abstract socket; unix:///path is always a file. All parts are percent-decoded. An IPv6
 * address is in brackets, with its zone after "%25". The default port is 6379, of sentinels
 * 26379; at most HF_SEEDS_MAX hosts. If redis:// has several, the one whose role is master
 * is used (docs/replicas.md). An empty login (`:@`) is ignored. Sentinels have their
 * own login, by options, or none. A cluster has only database 0. Options are joined by '&';
 * each appears once and is not empty:
 *
 *     db=N  protocol=2|3  client_name=NAME  tracking=on|off (docs/guarantees.md, 3b, 8a)
 *     connect_timeout=TIME  timeout=TIME      500ms, 5s, 2m; a number without a unit is
 *                                             seconds; 1ms to one day
 *     idle_check=TIME                         nothing received for TIME: PING first
 *     replicas=N|majority|all  replicas_timeout=TIME  label=TEXT (lock/label.h)
 *     map=FROM=TO    repeatable: TO in place of an announced FROM; each HOST or HOST:PORT
 *     with redis+cluster://
 *     sharded=auto|on|off|both   notifications by SPUBLISH: WIRE 5.1. Default auto. both:
 *                                published and subscribed in both ways
 *     with redis+sentinel://
 *     sentinel_user=NAME  sentinel_password=TEXT  sentinel_tls=yes|no (default: as servers)
 *     with TLS, at the servers or the sentinels
 *     tls_ca=FILE  tls_ca_dir=DIR  tls_crl=FILE  tls_cert=FILE  tls_key=FILE
 *     tls_key_password=TEXT  tls_sni=NAME  tls_ciphers=LIST
 *     tls_ciphersuites=LIST  tls_alpn=NAME  tls_verify=yes|no
 *
 * FILE, TEXT and LIST contain any bytes except NUL; NAME contains printable ASCII without
 * spaces, as the server requires. Each is limited by the size of its field below, a user
 * and a password by HF_LOGIN_MAX. An '@' in an option is written %40 (except with unix:).
 * Source: IANA "redis" scheme registration; RFC 3986; RFC 6874. */
#define HF_LOGIN_MAX 65536          /* bytes of a user name, and of a password */
#define HF_URL_TEXT_MAX 512
#define HF_URL_FILE_MAX 256
#define HF_SEEDS_MAX 16
#define HF_HOST_MAX 253            /* of a name in DNS, without the dot at its end */

/* The options of TLS. "" means that an option is not given. Options that later versions add
 * are words of the URL only. */
struct hf_tls_options {
    char ca_file[HF_URL_FILE_MAX];     /* PEM. Without ca_file and ca_dir, the system's
                                          CAs are trusted */
    char ca_dir[HF_URL_FILE_MAX];      /* as c_rehash(1) creates it */
    char crl_file[HF_URL_FILE_MAX];    /* PEM: revoked certificates are refused */
    char cert_file[HF_URL_FILE_MAX];   /* PEM: the client's certificate and its chain */
    char key_file[HF_URL_FILE_MAX];    /* "": the key is in cert_file */
    char key_password[HF_URL_TEXT_MAX];/* for an encrypted key */
    char server_name[256];             /* sent and checked instead of the host */
    char ciphers[HF_URL_FILE_MAX];     /* TLS 1.2: OpenSSL's cipher list */
    char ciphersuites[HF_URL_FILE_MAX];/* TLS 1.3 */
    char alpn[64];                     /* the only protocol to offer */
    bool is_unverified;                /* accepts any certificate: a machine in between
                                          can read and change all data */
};

/* hf_tls_library - returns the TLS library ("OpenSSL 3.0.17"), or NULL if this build has
 *   none; rediss:// is then an error. */
HF_API const char *hf_tls_library(void);

/* Values of `replicas` that are not a number. ALL requires every replica that the server
 * has at that moment (by ROLE, in the same write), and in a cluster at least as many as the
 * map lists. MAJORITY requires a majority of the server and its replicas. Both require at
 * least one replica. A disconnected replica does not count, unless the map still lists it;
 * to require a fixed number, give the number. To survive a failover, give the number of all
 * replicas: with fewer, the replica that confirms may not be the one that is promoted. */
#define HF_REPLICAS_ALL (-1)
#define HF_REPLICAS_MAJORITY (-2)

/* ---- the loop ------------------------------------------------------------ */

/* A loop waits for sockets and timers. At most one thread at a time drives it, that is,
 * waits for events and handles them. A thread that waits for a reply drives the loop if no
 * other thread does. The background thread drives it if no caller does, and there are
 * events to expect. */
struct hf_loop;

struct hf_loop_options {
    size_t size;                /* set by HF_LOOP_OPTIONS_INIT: net/version.h */
    const struct hf_mem *mem;   /* NULL: libc. Borrowed until hf_loop_free */
    bool thread;                /* starts a background thread that drives */
};
#define HF_LOOP_OPTIONS_INIT {.size = sizeof(struct hf_loop_options)}

/* hf_loop_new - creates a loop. It returns HF_E_NOMEM, HF_E_INVAL (options.size), or
 *   HF_E_SYSTEM with errno; *out is set only on HF_OK. */
HF_API hf_status hf_loop_new(struct hf_loop **out, const struct hf_loop_options *options)
    HF_MUST_CHECK;

/* hf_loop_free - stops the thread and frees the loop; NULL is allowed. Free everything that
 *   uses the loop before. It must not be called from a callback. */
HF_API void hf_loop_free(struct hf_loop *loop);

/* To drive a loop from another event loop, use these three functions
 * (examples/loop_epoll.c, loop_uv.c, loop_event.c).
 *
 * hf_loop_fd - returns a descriptor that is readable when there is something to do. It does
 *   not change. Watch it level-triggered, because a dispatch may leave work for the next
 *   one; do not read or close it, and stop watching it before hf_loop_free. It is -1 in a
 *   build that uses poll(2), which needs a thread that drives. */
HF_API int hf_loop_fd(const struct hf_loop *loop);

/* hf_loop_timeout - returns after how many ms hf_loop_dispatch must be called even if the
 *   descriptor is not readable; 0: now; -1: never. It may be too early. Call it before each
 *   wait, or once at first and after each dispatch: if a call of another thread makes the
 *   time earlier, hf_loop_fd becomes readable. */
HF_API int hf_loop_timeout(struct hf_loop *loop);

/* hf_loop_dispatch - waits up to `timeout_ms` (0: does not wait; -1: without limit), then
 *   handles ready sockets, due timers and callbacks, once. Any thread, but not from a
 *   callback. */
HF_API void hf_loop_dispatch(struct hf_loop *loop, int timeout_ms);

/* Counters of a loop since it was created. */
struct hf_loop_stats {
    uint64_t turns;             /* times that events were handled */
    uint64_t waits;             /* turns that slept */
    uint64_t wakeups;           /* sleeps that another thread ended */
    uint64_t driver_changes;    /* times that one thread let another one drive */
    uint64_t sleeps;            /* of blocked callers while another thread drove */
};

/* hf_loop_get_stats - copies the counters; all 0 in a forked child. Not [locked]. */
HF_API void hf_loop_get_stats(struct hf_loop *loop, struct hf_loop_stats *out);

/* hf_loop_lock - locks the loop. */
HF_API void hf_loop_lock(struct hf_loop *loop);

/* hf_loop_unlock - does the work that was postponed to the end of the turn, such as
 *   writing, and unlocks the loop. */
HF_API void hf_loop_unlock(struct hf_loop *loop);

/* hf_loop_arm - sets the timer to `due_ms`, also if it is armed. `fire` is called [locked].
 *   [locked] */
HF_API void hf_loop_arm(struct hf_loop *loop, struct hf_timer *timer, int64_t due_ms);

/* hf_loop_disarm - stops the timer, if it is armed. [locked] */
HF_API void hf_loop_disarm(struct hf_loop *loop, struct hf_timer *timer);

/* A watched descriptor. `ready` is called [locked] with HF_READ, HF_WRITE or both; an error
 * or hang-up counts as both. */
enum { HF_READ = 1, HF_WRITE = 2 };
struct hf_io {
    int fd;
    int events;
    void (*ready)(struct hf_io *io, int events);
    uint32_t index;             /* used by the loop */
};

/* hf_loop_watch - begins to watch io->fd for io->events. It returns HF_E_NOMEM or
 *   HF_E_SYSTEM. [locked] */
HF_API hf_status hf_loop_watch(struct hf_loop *loop, struct hf_io *io) HF_MUST_CHECK;

/* hf_loop_rewatch - changes io->events to `events`. [locked] */
HF_API void hf_loop_rewatch(struct hf_loop *loop, struct hf_io *io, int events);

/* hf_loop_unwatch - stops watching; call it before the descriptor is closed. [locked] */
HF_API void hf_loop_unwatch(struct hf_loop *loop, struct hf_io *io);

/* ---- links --------------------------------------------------------------- */

/* How a request ended. Each request ends once, in one of these ways. */
enum hf_outcome {
    HF_ANSWERED,     /* there is a reply, perhaps an error reply */
    HF_UNSENT,       /* no byte was sent: it is safe to send the request again */
    HF_UNKNOWN       /* bytes were sent, or may have been, and no reply came: the server
                        may have executed the request, or may do so later */
};

/* The events of a connection that are traced, and the members of struct hf_trace that they
 * set. All that these point to is valid until the callback returns. */
enum hf_trace_kind {
    HF_TRACE_CONNECTED,         /* ready for requests: protocol */
    HF_TRACE_LOST,              /* closed, or the attempt failed: why */
    HF_TRACE_HANDSHAKE,         /* a command of the handshake: argv */
    HF_TRACE_HANDSHAKE_REPLY,   /* its reply, or why the reply is hidden */
    HF_TRACE_QUEUED,            /* a request: number, argv */
    HF_TRACE_ENDED,             /* its end: number, outcome; with a reply: reply, latency */
    HF_TRACE_LATE,              /* reply to a request that had ended: number, reply */
    HF_TRACE_PUSH               /* reply */
};

struct hf_trace {
    size_t size;                /* of the library's struct: net/version.h */
    enum hf_trace_kind kind;
    const char *address;
    uint64_t number;            /* of a connection's requests, from 1; that of a request
                                   never sent may be used again. 0: PING of idle_check */
    const struct hf_resp_arg *argv; /* complete, with the text of a script; the passwords
                                   of AUTH and HELLO are replaced by "(secret)" */
    size_t argc;
    enum hf_outcome outcome;
    struct hf_resp_value reply;
    uint32_t latency_us;        /* from the write to the read */
    int protocol;
    const char *why;
};

/* hf_trace_text - formats a trace as one line without a newline, such as
 *   "127.0.0.1:6379 #12 > EVALSHA 5f.. 1 name". Bytes that are not UTF-8 become \xHH; long
 *   arguments and lines (HF_TRACE_TEXT_MAX) are cut and then end in "...". Returns dst. */
#define HF_TRACE_TEXT_MAX 512
HF_API char *hf_trace_text(char dst[HF_TRACE_TEXT_MAX], const struct hf_trace *trace);

/* Counters of a link, which is the succession of connections to one server. At any time
 * requests = answered + unsent + unknown + pending ones. */
struct hf_link_stats {
    /* Connections. */
    uint64_t connects;          /* that became ready */
    uint64_t failures;          /* attempts that did not */
    uint64_t losses;            /* ready ones that were closed or lost */
    uint64_t resumed;           /* TLS handshakes that resumed a session */

    /* Traffic, the handshake included. */
    uint64_t writes;            /* system calls */
    uint64_t reads;
    uint64_t bytes_out;
    uint64_t bytes_in;

    /* Requests, by outcome. */
    uint64_t requests;          /* accepted */
    uint64_t answered;
    uint64_t error_replies;     /* included in answered */
    uint64_t unsent;
    uint64_t unknown;
    uint64_t given_up;          /* unsent or unknown: deadline reached, or cancelled */
    uint64_t late_replies;      /* replies to those, which were dropped */
    uint64_t pushes;

    /* At this moment. */
    uint64_t in_flight;         /* sent, without a reply */
    uint64_t in_flight_max;     /* the largest value so far */
    uint64_t queued;            /* not sent yet */
    uint64_t queued_bytes;      /* of these, and bytes that the kernel did not accept */

    struct hf_histogram latency_us; /* from write to read, late replies included */
    struct hf_histogram batch;      /* requests in one write */
};

/* How often commands changed servers. */
struct hf_router_counts {
    uint64_t moved;             /* MOVED redirections that were followed */
    uint64_t asked;             /* ASK redirections that were followed */
    uint64_t refreshes;         /* times that the map was requested */
    uint64_t maps;              /* times that it had changed */
    uint64_t resent;            /* commands that changed servers before they were sent */
    uint32_t servers;           /* servers that have a link now */
};

#ifdef __cplusplus
}
#endif
#endif
