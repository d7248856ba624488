/* Sockets, time and pipelined connections: everything between a command's
 * bytes and its reply. Knows nothing of locks.
 *
 * In reading order: errors, memory, time (clock, timers, wheel), histograms,
 * addresses, TLS, the loop, slots, links, wires, subscriptions, routing.
 *
 * Threads: one loop has one lock (hf_loop_lock). Functions marked [locked]
 * are called with it held, and so are the callbacks that this floor makes. */
#ifndef HF_NET_H
#define HF_NET_H

#include <semaphore.h>
#include <stdbool.h>

#include "resp/base.h"
#include "resp/resp.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- errors, for a person ------------------------------------------------ */

#define HF_ERROR_TEXT_MAX 512

/* What went wrong: the status, and one line with the address, the key and the
 * server's own words. Never a password. `text` ends in NUL, is cut where too
 * long, and is UTF-8 that a terminal shows and does not obey (hf_utf8_is_shown). */
struct hf_error {
    hf_status status;
    char text[HF_ERROR_TEXT_MAX];
};

/* hf_error_set - fills *e (NULL: does nothing) as printf would; returns
 * `status`, so that `return hf_error_set(...)` reads well. */
hf_status hf_error_set(struct hf_error *e, hf_status status, const char *format,
                       ...) __attribute__((format(printf, 3, 4)));

/* hf_error_quote - bytes as text for a message: UTF-8 as it is; the bytes of
 *   what is none, of a backslash and of characters that a terminal obeys
 *   (hf_utf8_is_shown) as \xHH. Cut with "..." to fit, between characters; always
 *   ends in NUL. Returns dst.
 * hf_error_tame - makes a finished line fit for a terminal, in place: control
 *   characters become spaces; the bytes of what else is not to be shown, and of
 *   what is no UTF-8, question marks. */
char *hf_error_quote(char *dst, size_t room, const void *ptr, size_t len);
void hf_error_tame(char *text, size_t len);

/* ---- UTF-8 --------------------------------------------------------------- */

/* hf_utf8_read  - the character at `ptr`: its length, 1 to 4, and its code; 0: the
 *                 first byte does not begin one. len > 0.
 * hf_utf8_ok    - is all of it UTF-8?
 * hf_utf8_whole - the length without a character that is cut off at the end.
 * hf_utf8_is_shown - false: a terminal obeys it (C0, DEL, C1), it turns the text
 *                 around (bidirectional controls), or it ends a line.
 * Pure; any thread. */
size_t hf_utf8_read(uint32_t *code, const char *ptr, size_t len);
bool hf_utf8_ok(const char *ptr, size_t len);
size_t hf_utf8_whole(const char *ptr, size_t len);
bool hf_utf8_is_shown(uint32_t code);

/* ---- memory -------------------------------------------------------------- */

/* The libc's allocator as a hook. */
extern const struct hf_mem hf_mem_libc;

/* hf_mem_new  - zeroed memory, or NULL. hf_mem_free - takes NULL too.
 * hf_mem_grow - *ptr from *room elements of `size` bytes to at least `want`,
 *               at least doubled, never over `max`; contents kept, *room set.
 *               false: nothing changed. The one place where arrays grow. */
void *hf_mem_new(const struct hf_mem *mem, size_t size);
void hf_mem_free(const struct hf_mem *mem, void *ptr, size_t size);
bool hf_mem_grow(const struct hf_mem *mem, void *ptr, uint32_t *room,
                 size_t size, size_t want, size_t max);

/* hf_hash - of any bytes, for tables (SipHash-1-3). Without the key nobody can
 *   choose names that fall into one bucket. Any thread. */
struct hf_hash_key {
    uint64_t a, b;
};
uint64_t hf_hash(const struct hf_hash_key *key, const void *ptr, size_t len);

/* ---- time ---------------------------------------------------------------- */

/* hf_clock_ms - milliseconds that go on while the machine is suspended
 * (CLOCK_BOOTTIME where there is one) and that no one sets. Any thread. */
HF_API int64_t hf_clock_ms(void);

/* hf_clock_us - the same clock in microseconds. */
int64_t hf_clock_us(void);

/* hf_clock_thread_us - the calling thread's processor time. A system call. */
int64_t hf_clock_thread_us(void);

#define HF_NEVER INT64_MAX

/* hf_random - fills `ptr` with bytes that nobody can guess. false: the kernel
 * gives none (a filter of system calls), and they are zeros. Any thread. */
bool hf_random(void *ptr, size_t len);

/* A timer is a field of what it belongs to: arming one cannot fail. 32 bytes
 * or less. */
struct hf_timer {
    struct hf_timer *next;
    struct hf_timer **link;   /* what points at us; NULL: not armed */
    int64_t due_ms;
    void (*fire)(struct hf_timer *timer);
};

/* A hierarchical timing wheel: pure, tickless; the caller says what time it
 * is. Source: WHEEL (Varghese & Lauck 1987), scheme 7.
 *
 *   lowest level   HF_WHEEL_LOW buckets of 1 ms, so that a common lease's
 *                  third and every request deadline are never moved down
 *   upper levels   HF_WHEEL_UP buckets each, every bucket as wide as the whole
 *                  level below
 * A timer further away than the top level waits in its last bucket. */
#define HF_WHEEL_LOW_BITS 14
#define HF_WHEEL_UP_BITS 8
#define HF_WHEEL_UPPER 2
struct hf_wheel {
    int64_t now_ms;           /* everything due up to here has been handed out */
    size_t count;
    struct hf_timer *low[1 << HF_WHEEL_LOW_BITS];
    uint64_t low_used[(1 << HF_WHEEL_LOW_BITS) / 64];
    uint64_t low_summary[(1 << HF_WHEEL_LOW_BITS) / 64 / 64];
    struct hf_timer *up[HF_WHEEL_UPPER][1 << HF_WHEEL_UP_BITS];
    uint64_t up_used[HF_WHEEL_UPPER][(1 << HF_WHEEL_UP_BITS) / 64];
    struct hf_timer *due;     /* handed out by hf_wheel_advance, not yet popped */
    struct hf_timer **due_end;
};

/* hf_wheel_init    - of memory that is all zeros (so untouched pages of a big
 *                    wheel cost nothing)
 * hf_wheel_arm     - `timer` (armed or not; `fire` set) becomes due at `due_ms`;
 *                    at the next advance if that is past. To a later time than
 *                    it is armed for, only the new time is noted: the timer is
 *                    moved when its old bucket comes up.
 * hf_wheel_cancel  - not armed after; an unarmed one is left alone. O(1), also
 *                    for one that is due and not yet popped.
 * hf_wheel_next_ms - when to call hf_wheel_advance next: never later than the
 *                    first timer is due, HF_NEVER if there is none. May be too
 *                    early, by a re-armed timer's old bucket or a bucket's width.
 * hf_wheel_advance - moves to `now_ms` (earlier than before: does nothing) and
 *                    gathers what is due, in the order of due_ms; what
 *                    was armed for the past counts as due when it was armed.
 * hf_wheel_pop     - the next gathered timer, unarmed, for the caller to fire,
 *                    or NULL. A timer armed in between waits for the next
 *                    advance and cannot starve the loop.
 * Cost: O(1) each; advance in the timers due and moved, not in the time. */
void hf_wheel_init(struct hf_wheel *w, int64_t now_ms);
void hf_wheel_arm(struct hf_wheel *w, struct hf_timer *timer, int64_t due_ms);
void hf_wheel_cancel(struct hf_wheel *w, struct hf_timer *timer);
int64_t hf_wheel_next_ms(const struct hf_wheel *w);
void hf_wheel_advance(struct hf_wheel *w, int64_t now_ms);
struct hf_timer *hf_wheel_pop(struct hf_wheel *w);

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

/* ---- addresses ----------------------------------------------------------- */

#define HF_URL_TEXT_MAX 512
#define HF_URL_FILE_MAX 256

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
    bool is_unverified;                /* any certificate will do: whoever sits in
                                          between can read and change all */
};

/* How many replicas: all that its server has at that moment (ROLE, asked in the
 * same write), and in a cluster no fewer than the map has; as many as make a
 * majority together with the server itself. One at least: a server that has none
 * left grants nothing. One that is away is not counted, but by a map that does not
 * know it yet: who has to be sure of it gives a number. */
#define HF_REPLICAS_ALL (-1)
#define HF_REPLICAS_MAJORITY (-2)

/* Where a server is, who we are there, and how to speak to it. All text in one
 * block, each piece NUL-terminated, "" if not given; a password may hold any
 * byte but NUL. A number that is not given is 0.
 *
 * Client name, protocol and timeouts are wishes, for whoever fills a struct
 * hf_link_options to take over: the link heeds those that stand there. */
struct hf_url {
    enum { HF_URL_TCP, HF_URL_TLS, HF_URL_UNIX } kind;
    char host[256];           /* TCP, TLS: name or literal, without brackets */
    char path[108];           /* UNIX: the socket's file; with '@' in front, an
                                 abstract name */
    uint16_t port;
    uint32_t database;
    char user[256];
    char password[HF_URL_TEXT_MAX];
    bool has_password;
    char client_name[64];
    int protocol;             /* 2 or 3 */
    int64_t connect_timeout_ms;
    int64_t timeout_ms;       /* of one request */
    int replicas;             /* that must have a lock; HF_REPLICAS_* */
    int64_t replicas_timeout_ms;
    struct hf_tls_options tls;
};

/* Where to begin, where there is more than one server (see routing). */
#define HF_SEEDS_MAX 16
#define HF_MASTER_NAME_MAX 128
struct hf_seeds {
    enum { HF_STANDALONE, HF_CLUSTER, HF_SENTINEL } topology;
    uint32_t count;             /* of hosts; standalone: none, it is the URL's */
    struct {
        char host[256];
        uint16_t port;
    } list[HF_SEEDS_MAX];
    char master[HF_MASTER_NAME_MAX];    /* what the sentinels call it */
    char sentinel_user[256];            /* who we are to the sentinels */
    char sentinel_password[HF_URL_TEXT_MAX];
    enum {
        HF_SHARDED_AUTO,
        HF_SHARDED_ON,
        HF_SHARDED_OFF,
        HF_SHARDED_BOTH
    } sharded;
};

/* hf_url_parse - redis://[[user]:password@]host[:port][/database][?option],
 * rediss:// (TLS) likewise, unix://[[user]:password@]/path[?option]
 * (redis+unix:// and redis-socket:// are taken for it, valkey:// and valkeys://
 * for the first two). unix:@name is an abstract socket (unix:///path is a file
 * always). Percent-decoded, path and options' text too; host in brackets if IPv6,
 * its zone behind "%25"; default port 6379, no default host. `:@` is as if not
 * there. Options are joined by '&', each once, none empty:
 *
 *     db=N  protocol=2|3  client_name=NAME
 *     connect_timeout=TIME  timeout=TIME      500ms, 5s, 2m; a bare number is s;
 *                                             from 1ms to a day
 *     replicas=N|majority|all  replicas_timeout=TIME
 *     with rediss:// alone:
 *     tls_ca=FILE  tls_ca_dir=DIR  tls_crl=FILE  tls_cert=FILE  tls_key=FILE
 *     tls_key_password=TEXT  tls_sni=NAME  tls_ciphers=LIST
 *     tls_ciphersuites=LIST  tls_alpn=NAME  tls_verify=yes|no
 *
 * FILE, TEXT, LIST: any bytes but NUL; NAME: printable ASCII without spaces (a
 * server takes no other). All as long as their fields. An '@' in an option is
 * written %40 (but with unix:).
 *
 * HF_E_INVAL with a text that points at the offending character (its position,
 * counted from 1) and holds nothing of the URL, so never the password; *out is
 * left alone. Source: IANA "redis" scheme registration; RFC 3986; RFC 6874. */
hf_status hf_url_parse(struct hf_url *out, const char *text,
                       struct hf_error *err);

/* hf_url_parse_seeds - of these, too (or rediss+..., valkey+..., valkeys+...);
 *   HF_SEEDS_MAX hosts at most, with ports or the default, 6379 and 26379:
 *
 *     redis+cluster://[[user]:password@]host[:port],host[:port]...[/][?option]
 *         sharded=auto|on|off|both  messages by SPUBLISH: WIRE 5.1. Default auto.
 *                                  both: published and listened to both ways
 *     redis+sentinel://[[user]:password@]host[:port],.../master[/database][?..]
 *         sentinel_user=NAME  sentinel_password=TEXT
 *
 *   User and password are those of the servers; a sentinel has its own, or none.
 *   The URL's host is the first one. A cluster has database 0 alone. As
 *   hf_url_parse otherwise. */
hf_status hf_url_parse_seeds(struct hf_url *out, struct hf_seeds *seeds,
                             const char *text, struct hf_error *err);

/* hf_url_set_tls - what is given in *tls wins over what stands in the URL, piece
 * by piece. HF_E_INVAL: something is, and the URL is not one of TLS. */
hf_status hf_url_set_tls(struct hf_url *url, const struct hf_tls_options *tls,
                         struct hf_error *err);

/* hf_url_move - the same for another server: at that host, and, if it is one of
 * the sentinels of *seeds (else NULL), with their login and without a database. */
void hf_url_move(struct hf_url *url, const char *host, uint16_t port,
                 const struct hf_seeds *seeds);

/* hf_url_address - "127.0.0.1:6379", "[::1]:6379", "unix:/run/redis.sock" or
 * "unix:@name", for messages. Returns dst.
 * hf_url_sockaddr - of a URL of kind UNIX, as connect(2) wants it. Returns its
 * length. */
struct sockaddr_un;
char *hf_url_address(const struct hf_url *url, char *dst, size_t room);
size_t hf_url_sockaddr(const struct hf_url *url, struct sockaddr_un *out);

/* ---- TLS ----------------------------------------------------------------- */

/* hf_tls_library - what TLS is built in with ("OpenSSL 3.0.17"); NULL: it is
 *   not, and rediss:// is an error. */
HF_API const char *hf_tls_library(void);

/* A context is what the connections to one server share: settings read from
 * files, and the session to be resumed. It serves one server name, so that a
 * session is never offered to another.
 *
 * hf_tls_context_new - reads the files. `host` is whom the certificate must
 *   name (a name or an IP literal), unless options->server_name does. See
 *   net/wire/tls.h for what is checked, and for the errors.
 * hf_tls_context_share - the same for another host, of a context with the same
 *   options: what was read from files is shared, and read once however many
 *   hosts a cluster announces.
 * hf_tls_context_free - its links are gone. Takes NULL. */
struct hf_tls_context;
hf_status hf_tls_context_new(struct hf_tls_context **out,
                             const struct hf_mem *mem,
                             const struct hf_tls_options *options,
                             const char *host, struct hf_error *err);
hf_status hf_tls_context_share(struct hf_tls_context **out,
                               const struct hf_tls_context *of,
                               const struct hf_tls_options *options,
                               const char *host, struct hf_error *err);
void hf_tls_context_free(struct hf_tls_context *context);

/* ---- the loop ------------------------------------------------------------ */

/* A loop owns a poller, a wheel and whoever registers with it. At most one
 * thread at a time *drives* it: waits for events and handles them. Whoever
 * waits for a reply drives if nobody does; the background thread drives when
 * no caller does and there is something to hear. */
struct hf_loop;

struct hf_loop_options {
    const struct hf_mem *mem;   /* NULL: libc. Borrowed until hf_loop_free */
    bool thread;                /* drive from a background thread */
};

/* hf_loop_new  - HF_E_NOMEM, HF_E_SYSTEM; *out is set only on HF_OK.
 * hf_loop_free - takes NULL. Everything registered must be gone. Stops the
 *                thread. Not from a callback. */
HF_API hf_status hf_loop_new(struct hf_loop **out,
                             const struct hf_loop_options *options);
HF_API void hf_loop_free(struct hf_loop *loop);

/* To drive a loop from one other event loop (examples/loop_epoll.c, loop_uv.c,
 * loop_event.c):
 *
 * hf_loop_fd       - a descriptor that is readable when there is something to
 *                    do; the same as long as the loop lives. To be watched
 *                    level-triggered, for a dispatch may leave some of it to the
 *                    next; not to be read or closed; to be forgotten before the
 *                    loop is freed. -1 in a build with poll(2), which has none
 *                    to give: let a thread drive.
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
    uint64_t waits;             /* of these, in the poller, for what was not
                                   there yet */
    uint64_t wakeups;           /* out of such a wait, by another thread */
    uint64_t seats_passed;      /* from who drove to another thread */
    uint64_t sleeps;            /* of blocked callers, while another drove */
};
HF_API void hf_loop_stats(struct hf_loop *loop, struct hf_loop_stats *out);

/* The lock. Unlocking first does what was put off to the end of the turn. */
HF_API void hf_loop_lock(struct hf_loop *loop);
HF_API void hf_loop_unlock(struct hf_loop *loop);

const struct hf_mem *hf_loop_mem(const struct hf_loop *loop);

/* hf_loop_forked - are we in a child of the process that made the loop? Then all
 * of it is the parent's. What would do something returns HF_E_FORKED, or does
 * nothing; hf_loop_timeout is -1, and hf_loop_wait returns at once. Nothing is
 * written to the parent's sockets, its poller is not touched. What is left to do
 * is to free, which gives the child's copy of memory and descriptors back. No
 * lock needed. Costs a look into memory (Linux 4.14; else getpid). */
bool hf_loop_forked(const struct hf_loop *loop);

/* hf_loop_now, hf_loop_now_us - the clock, as it was when either was first called
 *   under the lock that is held: one reading serves a whole turn. [locked]
 * hf_loop_serial - a number that it has not given before; from 1. [locked]
 * hf_loop_hash - by its own random key, for tables. Any thread.
 * hf_loop_arm, hf_loop_disarm - a timer of this loop; fires [locked]. */
int64_t hf_loop_now(struct hf_loop *loop);
int64_t hf_loop_now_us(struct hf_loop *loop);
uint64_t hf_loop_serial(struct hf_loop *loop);
uint32_t hf_loop_hash(const struct hf_loop *loop, const void *ptr, size_t len);
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
HF_API hf_status hf_loop_watch(struct hf_loop *loop, struct hf_io *io);
HF_API void hf_loop_rewatch(struct hf_loop *loop, struct hf_io *io, int events);
HF_API void hf_loop_unwatch(struct hf_loop *loop, struct hf_io *io);

/* A callback of the user's that is to be made once this turn is handled: by the
 * background thread, or by a thread in hf_loop_dispatch, never by a blocked
 * caller. In order, one at a time, each once; one that is posted again before it
 * ran runs once. `run` is called [locked], and gives the lock up around the
 * callback, having copied what it needs: the task's memory may be freed
 * meanwhile. hf_loop_post_first: before all that are not posted so. */
struct hf_task {
    struct hf_list node;
    void (*run)(struct hf_task *task);
};
void hf_task_init(struct hf_task *task, void (*run)(struct hf_task *task));
void hf_loop_post(struct hf_loop *loop, struct hf_task *task);   /* [locked] */
void hf_loop_post_first(struct hf_loop *loop, struct hf_task *task); /* [locked] */
void hf_loop_unpost(struct hf_loop *loop, struct hf_task *task); /* [locked] */

/* hf_loop_finish_tasks - waits until all that is posted has been run: by the
 * background thread; without one it does so itself. Not from a task. [locked] */
void hf_loop_finish_tasks(struct hf_loop *loop);

/* A turn hook is called [locked] at the end of each turn in which it was
 * requested, before output is flushed: for work that is done in batches. */
struct hf_turn {
    struct hf_list node;
    void (*end)(struct hf_turn *turn);
};
void hf_turn_init(struct hf_turn *turn, void (*end)(struct hf_turn *turn));
void hf_loop_at_turn_end(struct hf_loop *loop, struct hf_turn *turn);
void hf_loop_forget_turn(struct hf_loop *loop, struct hf_turn *turn);

/* A blocked caller. Memory of the caller's stack.
 * hf_loop_wait - drives the loop, or sleeps while another does, until
 *                hf_waiter_wake was called. [locked] when called; the lock is
 *                free when it returns.
 * hf_waiter_wake - any time, also before the wait. [locked] */
struct hf_waiter {
    struct hf_list node;
    struct hf_loop *loop;
    sem_t post;
    bool is_woken;
    bool is_asleep;
    bool is_offered_seat;
};
void hf_waiter_init(struct hf_waiter *w, struct hf_loop *loop);
void hf_loop_wait(struct hf_waiter *w);
void hf_waiter_wake(struct hf_waiter *w);

/* hf_loop_attend - somebody relies on callbacks, not on a blocked caller: while
 * attended (a counter), the background thread drives whenever nobody else does.
 * Otherwise it leaves the loop alone for a moment after each blocked caller, so
 * that a lone caller's write and read cost no switch of threads. [locked] */
void hf_loop_attend(struct hf_loop *loop);
void hf_loop_unattend(struct hf_loop *loop);

/* hf_loop_quiesce - waits until no other thread drives, and keeps the seat;
 * hf_loop_resume gives it back. For taking things apart. [locked] */
void hf_loop_quiesce(struct hf_loop *loop);
void hf_loop_resume(struct hf_loop *loop);

/* ---- cluster: slots ------------------------------------------------------- */

/* A cluster's keys are in slots, and each slot is some node's. */
#define HF_SLOTS 16384

/* hf_slot_of - the slot of a key, any bytes: 0 to HF_SLOTS - 1. Where the key
 * has a '{' and behind it a '}', with something between, what stands between
 * the first '{' and the first '}' behind it (the hash tag) alone decides.
 * Cost: 8 bytes a step. To be kept where the key is, not asked for again.
 * Source: CLUSTER "Key distribution model", "Hash tags". */
uint16_t hf_slot_of(const void *key, size_t len);

/* Who serves what, as one node of a cluster says: what routing goes by, for who
 * wants to see it, or to compare what several nodes say. */
struct hf_cluster_view;

struct hf_cluster_node {
    const char *id;           /* lent, as the rest, until the view is freed */
    const char *host;         /* "": not known, so nobody can go there */
    uint16_t port;            /* of the kind asked for; 0: it has none */
    const char *master;       /* whose replica it is: that one's id; NULL: none's */
};

/* hf_cluster_view_read - the reply to CLUSTER SLOTS.
 *   host    what was asked: nodes may say "the same as you have"
 *   is_tls  what was asked over
 *   HF_E_SERVER, HF_E_PROTOCOL, HF_E_LIMIT, HF_E_NOMEM; *out is set only on
 *   HF_OK, for hf_cluster_view_free (which takes NULL). Pure.
 * hf_cluster_view_count, _node - masters and replicas. index < count.
 * hf_cluster_view_owner - the index of the node that serves a slot; -1: none. */
hf_status hf_cluster_view_read(struct hf_cluster_view **out,
                               const struct hf_mem *mem, const char *host,
                               bool is_tls, struct hf_resp_value reply,
                               struct hf_error *err);
void hf_cluster_view_free(struct hf_cluster_view *view);
uint32_t hf_cluster_view_count(const struct hf_cluster_view *view);
struct hf_cluster_node hf_cluster_view_node(const struct hf_cluster_view *view,
                                            uint32_t index);
int hf_cluster_view_owner(const struct hf_cluster_view *view, uint16_t slot);

/* ---- links --------------------------------------------------------------- */

/* A link is one pipelined connection that keeps itself connected while anyone
 * wants it to be:
 *
 *   IDLE -wanted-> DIALING -> SECURING -> GREETING -> READY
 *    ^                |           |           |         |
 *    |                +- failed --+-----------+---------+
 *    |                      v
 *    +-nobody wants it- BACKOFF -time is up-> DIALING
 *
 * SECURING is the handshake of TLS; without it, over at once.
 *
 * Requests are queued in any state and written when READY. */
struct hf_link;

/* How a request ended. Every request ends in exactly one of these, once. */
enum hf_outcome {
    HF_ANSWERED,     /* the reply is here; it may be an error reply */
    HF_UNSENT,       /* no byte left this process: safe to send again */
    HF_UNKNOWN       /* bytes left, or were about to, and no answer came: the
                        server may have done it, or may do it yet */
};

/* A request: a field of what asked. Ours from submit until `done` is called,
 * the owner's before and after; `done` may free or submit it again. */
struct hf_request {
    /* Set by the owner. [locked] `reply` is valid until `done` returns and
     * only with HF_ANSWERED. */
    void (*done)(struct hf_request *request, enum hf_outcome outcome,
                 struct hf_resp_value reply);
    bool is_acknowledged_by_push;   /* SUBSCRIBE and its kin (RESP3 "Push") */
    int64_t sent_ms;            /* when its first byte was about to be written;
                                   HF_NEVER: not yet */
    uint64_t stream;            /* on which it was sent: of two requests on one
                                   stream, the server executes the one that was
                                   sent first before the other, or never. Each
                                   connection has a number of its own; it keeps
                                   its predecessor's if the server confirmed that
                                   this one is gone. Never 0 */
    /* The link's own. */
    struct hf_due *due;         /* where its deadline is: */
    struct hf_list due_node;    /* in a line, or */
    struct hf_timer timer;      /* by itself */
    int64_t deadline_ms;
    struct hf_link *link;
    uint64_t place;             /* in the order of all requests of the link */
};

/* What a link tells, as it happens, to who wants to look; with each, the fields
 * that hold more. All that they point at is valid until the callback returns. */
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
 *   most HF_TRACE_TEXT_MAX - 1 long: "127.0.0.1:6379 #12 > EVALSHA 5f.. 1 name".
 *   Quoted like hf_error_quote; arguments are cut, and so is the line, with
 *   "..." to show it. Returns dst. Pure. */
#define HF_TRACE_TEXT_MAX 512
HF_API char *hf_trace_text(char dst[HF_TRACE_TEXT_MAX],
                           const struct hf_trace *trace);

struct hf_link_options {
    struct hf_url url;
    struct hf_tls_context *tls; /* with rediss://; borrowed until hf_link_free */
    const char *client_name;    /* CLIENT SETNAME; NULL: none. Borrowed */
    int protocol;               /* 3: HELLO 3, RESP2 if refused; 2: RESP2 */
    bool is_subscriber;         /* RESP2: a connection for pub/sub alone */
    int64_t connect_timeout_ms; /* resolve + connect + greeting; default 5000 */
    int64_t silence_ms;         /* unanswered for so long, with nothing heard:
                                   the connection is ended; default 5000 */
    int64_t listen_ms;          /* a connection that carries subscriptions, and on
                                   which nothing was heard for so long, is asked
                                   PING, so that silence_ms applies to it, too.
                                   Default 3000; 0: never */
    int64_t backoff_min_ms;     /* default 10; doubles, with jitter, up to */
    int64_t backoff_max_ms;     /* default 1000 */
    size_t output_max;          /* bytes queued and not yet taken by the kernel;
                                   default 64 MiB */
    uint32_t requests_max;      /* unanswered ones; default 1 Mi */
    size_t reply_max;           /* bytes of one reply or push: a peer that sends a
                                   greater one is left. Default 1 GiB. Its nodes
                                   take some ten times as much at most */

    /* [locked] up: READY now; or not any more. */
    void (*on_change)(void *ctx, bool is_up);
    /* [locked] An attempt to connect failed; hf_link_error says why. */
    void (*on_failure)(void *ctx);
    /* [locked] A push, or in RESP2 a pub/sub message. */
    void (*on_push)(void *ctx, struct hf_resp_value push);
    void *ctx;

    /* [locked] Looks, and calls nothing of ours but hf_trace_text, hf_resp_* and
     * hf_waiter_wake. NULL (default): costs one branch a request. */
    void (*on_trace)(void *ctx, const struct hf_trace *trace);
    void *trace_ctx;
};

/* hf_link_options_init - the defaults. */
void hf_link_options_init(struct hf_link_options *options);

/* hf_link_new  - IDLE; connects when first wanted. HF_E_NOMEM. [locked]
 * hf_link_free - requests end UNSENT or UNKNOWN; `done` is called. The loop is
 *                quiesced (or free of threads). Takes NULL. [locked] */
hf_status hf_link_new(struct hf_link **out, struct hf_loop *loop,
                      const struct hf_link_options *options);
void hf_link_free(struct hf_link *link);

/* hf_link_submit - queues a command, `argc` >= 1 arguments, copied. `deadline`
 *   is when to give up on it (HF_NEVER: at no time): done(UNSENT) if it was not
 *   written by then, else done(UNKNOWN); the late reply finds its place taken
 *   by nobody. HF_E_NOMEM, HF_E_LIMIT (full: nothing was queued, done will not
 *   be called; hf_link_await_room). Never calls `done` itself. [locked]
 * hf_link_cancel - ends it now as at its deadline, without calling `done`;
 *   says how it ended. HF_UNSENT: no byte will ever leave. [locked] */
hf_status hf_link_submit(struct hf_link *link, struct hf_request *request,
                         const struct hf_resp_arg *argv, size_t argc,
                         int64_t deadline_ms);
enum hf_outcome hf_link_cancel(struct hf_request *request);

/* Who waits until a full link takes more: a field of it.
 *
 * [locked] `ready` is called once. HF_OK: there is room for so many bytes, for
 * you, until you return: submit now. HF_E_CLOSED: the link is being freed. Else
 * it was refused, see hf_link_error. It may wait again, or be freed. */
struct hf_room {
    /* Set by the owner. */
    void (*ready)(struct hf_room *room, hf_status status);
    bool is_urgent;             /* goes before all that are not */
    /* The link's own. */
    struct hf_list node;
    struct hf_link *link;
    size_t bytes;
};

/* hf_link_await_room  - for a command of `bytes` (hf_resp_command_size); `ready`
 *   follows, and not from here. First come, first served, so a great one waits
 *   for its turn and is not passed by small ones. HF_E_LIMIT: the link takes
 *   none so great, ever.
 * hf_link_forget_room - waits no more; `ready` is not called. One that does not
 *   wait (its node initialised) is left alone.
 * hf_link_is_awaited  - does anybody wait? hf_link_submit does not look: who
 *   submits before them takes what they wait for. All [locked] */
hf_status hf_link_await_room(struct hf_link *link, struct hf_room *room,
                             size_t bytes);
void hf_link_forget_room(struct hf_room *room);
bool hf_link_is_awaited(const struct hf_link *link);

/* hf_link_want - while wanted, a lost link comes back of itself, also with no
 * request in its queue. [locked] */
void hf_link_want(struct hf_link *link, bool is_wanted);

/* hf_link_condemn - the peer answers what it was not asked: close, connect
 * anew. Everything in flight ends UNKNOWN. `why` for the error. [locked]
 * Takes effect when the bytes under way are handled. */
void hf_link_condemn(struct hf_link *link, const char *why);

/* hf_link_heard_ms - when bytes last came, or were first awaited. [locked]
 * hf_link_is_refused - the last attempt failed for good (a wrong password, not
 * a Redis server): what is submitted now will be tried once more.
 * hf_link_is_up, hf_link_protocol (2, 3; 0: not known yet), and the last error,
 * for a message; its status HF_OK: none since READY. [locked] */
bool hf_link_is_refused(const struct hf_link *link);
int64_t hf_link_heard_ms(const struct hf_link *link);
bool hf_link_is_up(const struct hf_link *link);
int hf_link_protocol(const struct hf_link *link);
const struct hf_error *hf_link_error(const struct hf_link *link);
const char *hf_link_address(const struct hf_link *link);

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

/* hf_link_stats     - a copy (2 KB). [locked]
 * hf_link_stats_add - those of another link on top; what is greatest stays so. */
void hf_link_stats(const struct hf_link *link, struct hf_link_stats *out);
void hf_link_stats_add(struct hf_link_stats *to,
                       const struct hf_link_stats *from);

/* ---- wires --------------------------------------------------------------- */

/* A wire is one connection that sends exactly the bytes that it is told to and
 * keeps all that come: no greeting, no parser, no second attempt. For who wants
 * to see bytes; who wants replies has a link.
 *
 * Threads: one at a time. Open, send and read block until `deadline_ms` of
 * hf_clock_ms at most. */
struct hf_wire;

struct hf_wire_options {
    const struct hf_mem *mem;     /* NULL: libc. Borrowed until hf_wire_close, */
    const struct hf_url *url;     /* and so is this, and this: */
    struct hf_tls_context *tls;   /* with rediss:// */
    uint32_t in_max;              /* bytes that came and were not dropped */
};

/* hf_wire_open  - resolves, connects, and has TLS's handshake; *out is set only
 *                 on HF_OK. HF_E_CONNECT, HF_E_TLS, HF_E_NOMEM, HF_E_SYSTEM; the
 *                 line in *err begins with the address. A lookup that hangs is
 *                 left behind, in a thread, until the system ends it.
 * hf_wire_close - takes NULL.
 *
 * hf_wire_send  - all of it. What comes meanwhile is kept, so that neither side
 *                 waits for the other to read.
 * hf_wire_read  - until at least one more byte has come.
 *   Both: HF_OK; HF_E_NOREPLY: not in time; HF_E_CONNECT, HF_E_TLS: the
 *   connection has ended; HF_E_LIMIT (in_max), HF_E_NOMEM. hf_wire_error says
 *   what was the matter, without the address.
 *
 * hf_wire_bytes - what has come and was not dropped; NULL, perhaps, if that is
 *                 nothing. Lent until the next call but hf_wire_error.
 * hf_wire_drop  - forgets the first `len` of them. */
hf_status hf_wire_open(struct hf_wire **out,
                       const struct hf_wire_options *options,
                       int64_t deadline_ms, struct hf_error *err);
void hf_wire_close(struct hf_wire *wire);
hf_status hf_wire_send(struct hf_wire *wire, const char *ptr, size_t len,
                       int64_t deadline_ms);
hf_status hf_wire_read(struct hf_wire *wire, int64_t deadline_ms);
const char *hf_wire_bytes(const struct hf_wire *wire, size_t *len);
void hf_wire_drop(struct hf_wire *wire, size_t len);
const struct hf_error *hf_wire_error(const struct hf_wire *wire);

/* ---- subscriptions ------------------------------------------------------- */

/* Channels of one server: over the main link in RESP3, over a link of its own
 * in RESP2. A lost connection is told to every subscription and subscribed
 * anew. */
struct hf_pubsub;

struct hf_subscription {
    /* Set by the owner. The channel's bytes are borrowed until dropped. */
    const char *channel;
    size_t channel_len;
    /* [locked] A message; `ptr` is valid until it returns. */
    void (*on_message)(struct hf_subscription *s, const char *ptr, size_t len);
    /* [locked] The server confirmed it (true), or it was lost (false). It may drop
     * this subscription and others. */
    void (*on_change)(struct hf_subscription *s, bool is_live);
    bool is_sharded;            /* SSUBSCRIBE: of one slot's node */
    /* The router's own. */
    struct hf_list route_node;
    uint16_t slot;
    /* hf_pubsub's own. */
    struct hf_list node;
    struct hf_pubsub *pubsub;   /* NULL: nowhere yet */
    struct hf_pubsub_order *order;   /* SUBSCRIBE under way */
    bool is_live;
};

/* hf_pubsub_new  - on top of `main`, whose on_push and on_change it wants to be
 *                  told: call hf_pubsub_push and hf_pubsub_change from them.
 * hf_pubsub_add  - subscribes; on_change(true) follows when confirmed. What
 *                  fails for want of memory or room, or is refused
 *                  (on_change(false)), is tried again. HF_E_FORKED.
 * hf_pubsub_drop - unsubscribes, at once for the caller.
 * hf_pubsub_is_idle - is no SUBSCRIBE or UNSUBSCRIBE under way?
 * hf_pubsub_on_idle - `idle` is called, [locked], whenever the last one has
 *                  ended.
 * hf_pubsub_on_astray - `astray` is called, [locked], when the server does not
 *                  serve a channel (any more).
 * hf_pubsub_retry - subscribes once more, if it is neither live nor under way.
 * All [locked]. */
hf_status hf_pubsub_new(struct hf_pubsub **out, struct hf_loop *loop,
                        struct hf_link *main,
                        const struct hf_link_options *options);
void hf_pubsub_free(struct hf_pubsub *ps);
void hf_pubsub_push(struct hf_pubsub *ps, struct hf_resp_value push);
void hf_pubsub_change(struct hf_pubsub *ps, bool is_up);
hf_status hf_pubsub_add(struct hf_pubsub *ps, struct hf_subscription *s);
void hf_pubsub_drop(struct hf_subscription *s);
bool hf_pubsub_is_idle(const struct hf_pubsub *ps);
void hf_pubsub_on_idle(struct hf_pubsub *ps, void (*idle)(void *ctx),
                       void *ctx);
void hf_pubsub_on_astray(struct hf_pubsub *ps, void (*astray)(void *ctx),
                         void *ctx);
void hf_pubsub_retry(struct hf_subscription *s);

/* ---- routing ------------------------------------------------------------- */

/* A router knows which server a command is for, and takes it there: through
 * redirections, moved slots and failovers. There are three kinds, which differ
 * only in how it learns who serves what:
 *
 *   standalone  one server, given
 *   cluster     its nodes say (CLUSTER SLOTS); the URL's hosts are asked first
 *   sentinel    the URL's hosts are sentinels; they name the one master
 *
 * Each server has one link (and one of its own for messages in RESP2), made when
 * it is first needed. Source: CLUSTER; SENTINEL "Guidelines for clients". */
struct hf_router;

/* A command, wherever the server is that it is for. The caller's memory, ours
 * from send until `done`. */
struct hf_command {
    /* Set by the owner; argv and what it points at stay until `done`. */
    const struct hf_resp_arg *argv;
    size_t argc;
    uint16_t slot;              /* hf_router_slot of its keys */
    bool is_urgent;             /* has room before those that are not */
    bool is_once;               /* it ends UNSENT when an attempt to connect to
                                   its server has failed, or nobody could be
                                   asked for the way; it does not wait for the
                                   next attempt */
    bool is_slow;               /* over the link of those who wait for replicas:
                                   a WAIT holds up all that comes behind it.
                                   What must not overtake them goes there, too */
    int replicas;               /* that must have it, too: HF_REPLICAS_ALL,
                                   _MAJORITY, or so many; 0: none */
    int64_t replicas_timeout_ms;/* how long the server waits for them */
    int64_t deadline_ms;
    /* [locked] Once; as that of a request. An error reply that says where to ask
     * is followed and not seen, HOPS_MAX (5) times. */
    void (*done)(struct hf_command *command, enum hf_outcome outcome,
                 struct hf_resp_value reply);
    /* [locked] With `replicas`, after a `done` whose reply was no error: the reply
     * to WAIT, which was sent in the same write. `wanted`: how many replicas that
     * came to, of the server that it was. The command is ours until then. */
    void (*acknowledged)(struct hf_command *command, enum hf_outcome outcome,
                         struct hf_resp_value reply, uint32_t wanted);

    /* For the owner to read in `done` and after hf_router_cancel. */
    int64_t sent_ms;            /* when what was answered, or may have been done,
                                   was sent; HF_NEVER: nothing was */
    uint64_t stream;            /* as hf_request's, of the same sending */

    /* The router's own. */
    struct hf_router *router;
    struct hf_server *server;   /* whom it is, or was last, for; NULL: nobody */
    const struct hf_server *master; /* of the slot, by the map when `server` was
                                   chosen: ASK and MOVED name others. Compared */
    struct hf_list node;
    struct hf_request request;
    struct hf_request asking;   /* in front of it, where it was sent by ASK */
    struct hf_request role;     /* behind it, where replicas are to be counted */
    struct hf_request wait;     /* behind it, with `replicas` */
    uint32_t attached;          /* replicas, by ROLE */
    uint32_t wanted;
    struct hf_room room;
    struct hf_timer timer;      /* its deadline, while no link has it */
    uint8_t state;
    uint8_t hops;
    bool is_by_ask;
    bool had_no_room;           /* it ended while it waited for room */
};

struct hf_router_options {
    const struct hf_seeds *seeds;       /* copied; NULL: standalone */
    struct hf_link_options link;        /* of every server: its url's user, TLS,
                                           database; the host of a standalone
                                           server. Copied. tls, on_change,
                                           on_failure, on_push and ctx are not
                                           looked at */
    int64_t replicas_timeout_ms;        /* the greatest of any command: as long, and
                                           no longer, WAIT may keep a server silent */
    /* [locked] A server was lost, or could not be asked for the way: for a log. */
    void (*on_trouble)(void *ctx, const struct hf_error *why);
    void *ctx;
};

/* hf_router_new  - does no I/O. HF_E_NOMEM, HF_E_TLS, HF_E_INVAL (TLS files, see
 *                  hf_tls_context_new). Not [locked].
 * hf_router_free - commands end UNSENT or UNKNOWN; `done` is called. The loop is
 *                  quiesced (or free of threads). Takes NULL. [locked] */
hf_status hf_router_new(struct hf_router **out, struct hf_loop *loop,
                        const struct hf_router_options *options,
                        struct hf_error *err);
void hf_router_free(struct hf_router *router);

/* hf_router_slot - of a key: to be kept where the key is. 0 but in a cluster,
 *   where nothing is computed. Any thread.
 * hf_router_is_known   - has it learned who serves what, at least once?
 * hf_router_is_sharded - is that a cluster with sharded messages that are to be
 *   used? False while it is not known. [locked]
 * hf_router_wakes_both - and plain ones, too: sharded=both. [locked]
 * hf_router_send - `done` follows. HF_E_NOMEM, HF_E_LIMIT (greater than any link
 *   takes, ever): it does not. While the way is not known, or the link is full,
 *   it waits, first come first served. Never calls `done` itself. [locked]
 * hf_router_cancel - ends it without `done`; UNSENT: no byte will ever leave.
 *   [locked] */
uint16_t hf_router_slot(const struct hf_router *router, const void *key,
                        size_t len);
bool hf_router_is_known(const struct hf_router *router);
bool hf_router_is_sharded(const struct hf_router *router);
bool hf_router_wakes_both(const struct hf_router *router);
hf_status hf_router_send(struct hf_router *router, struct hf_command *command);
enum hf_outcome hf_router_cancel(struct hf_command *command);

/* hf_command_is_sent - bytes of it have left, its answer is to come.
 * hf_command_is_by_ask - it was last sent by ASK: its slot is on the move.
 * hf_command_part    - it has ended, and is sent again after a pause: the server
 *                      that it was for may be gone by then.
 * hf_command_stay    - it is not sent anywhere else: a redirection is its answer.
 * hf_command_condemn - what answered it cannot be believed: hf_link_condemn.
 * hf_command_address - of the server it was last for; the router's if none.
 * hf_command_error   - why it was not answered; status HF_OK: not known. All
 *                      [locked] */
bool hf_command_is_sent(const struct hf_command *command);
bool hf_command_is_by_ask(const struct hf_command *command);
void hf_command_part(struct hf_command *command);
void hf_command_stay(struct hf_command *command);
void hf_command_condemn(struct hf_command *command, const char *why);
const char *hf_command_address(const struct hf_command *command);
const struct hf_error *hf_command_error(const struct hf_command *command);

/* hf_refusal_words - what an error says, without what Redis before 7 puts in front
 *                    of a script's ("ERR Error running script (..."). Lent as the
 *                    reply; "" if that is no error.
 * hf_refusal_is    - is `code` ("READONLY") what these words begin with? Both:
 *                    pure. */
void hf_refusal_words(struct hf_resp_value reply, const char **ptr, size_t *len);
bool hf_refusal_is(struct hf_resp_value reply, const char *code);

/* hf_router_address - "127.0.0.1:6379", "cluster at a:7000,b:7000", "master
 *   'main' of sentinels at s:26379", for messages.
 * hf_router_stats   - of all its links, summed; greatest depths are the greatest.
 * hf_router_counts  - how often it was sent elsewhere. [locked] */
const char *hf_router_address(const struct hf_router *router);
void hf_router_stats(const struct hf_router *router, struct hf_link_stats *out);

struct hf_router_counts {
    uint64_t moved;             /* redirections followed */
    uint64_t asked;
    uint64_t refreshes;         /* times the way was asked for */
    uint64_t maps;              /* times it changed */
    uint64_t resent;            /* commands that changed servers unsent */
    uint32_t servers;           /* with a link, now */
};
void hf_router_counts(const struct hf_router *router,
                      struct hf_router_counts *out);

/* hf_router_listen  - a subscription (channel and callbacks set) at the server
 *   of `slot`, kept live wherever that goes: on_change tells of each move. What
 *   there is no memory or room for now is tried again. HF_E_FORKED.
 * hf_router_unlisten - at once for the caller.
 * hf_router_is_idle - is no SUBSCRIBE or UNSUBSCRIBE under way?
 * hf_router_on_idle - as hf_pubsub_on_idle. All [locked] */
hf_status hf_router_listen(struct hf_router *router, struct hf_subscription *s,
                           uint16_t slot);
void hf_router_unlisten(struct hf_subscription *s);
bool hf_router_is_idle(const struct hf_router *router);
void hf_router_on_idle(struct hf_router *router, void (*idle)(void *ctx),
                       void *ctx);

#ifdef __cplusplus
}
#endif
#endif
