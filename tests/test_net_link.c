/* The link: a connection that comes back, against scripted peers, proxies and a
 * real server. A question is asked as text and answered as text:
 *     ask("ECHO a") -> "a", "(error) ERR ..", "(unsent)", "(unknown)"
 * Sources: faults.md 0, 2 and 3.4; RESP-CONFORMANCE, rules V. */
#include <check.h>
#include <dirent.h>
#include <errno.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "net/base/mem.h"
#include "net/link/pubsub.h"
#include "net/net.h"
#include "tests/support/dice.h"
#include "tests/support/local.h"
#include "tests/support/memory.h"
#include "tests/support/names.h"
#include "tests/support/one_server.h"
#include "tests/support/peer.h"
#include "tests/support/promise.h"
#include "tests/support/proxy.h"
#include "tests/support/server.h"
#include "tests/support/suite.h"

#define LONG_MS 10000         /* longer than anything here takes */
#define QUICK_MS 2000         /* "at once", on a machine with much to do */
#define PASSWORD "open sesame, please"
#define WORDS_MAX 8

static struct memory memory;
static struct hf_loop *loop;
static struct hf_link *link_;
static struct hf_link_options options;
static struct hf_pubsub *pubsub;      /* on top of link_; NULL: none */

/* Under the lock: what the link told, + up, - down, and its pushes. */
static char changes[256];
static char pushed[256];

static void append(char *dst, size_t room, const char *text)
{
    size_t len = strlen(dst);

    (void)snprintf(dst + len, room - len, "%s", text);
}

static void lock(void)
{
    hf_loop_lock(loop);
}

static void unlock(void)
{
    hf_loop_unlock(loop);
}

/* ---- a link ---- */

static void on_change(void *ctx, bool is_up)
{
    (void)ctx;
    append(changes, sizeof changes, is_up ? "+" : "-");
    if (pubsub)
        hf_pubsub_change(pubsub, is_up);
}

static void on_push(void *ctx, struct hf_resp_value push)
{
    struct hf_resp_value kind;
    const char *ptr;
    size_t len;

    (void)ctx;
    must(hf_resp_element(push, 0, &kind) == HF_OK &&
             hf_resp_bytes(kind, &ptr, &len) == HF_OK,
         "a push has a kind");
    append(pushed, sizeof pushed, ">");
    if (pubsub)
        hf_pubsub_push(pubsub, push);
}

/* The options of the links to come; the test may change some. */
static void prepare(int port)
{
    hf_link_options_init(&options);
    options.url = (struct hf_url){.kind = HF_URL_TCP, .host = "127.0.0.1"};
    options.url.port = (uint16_t)port;
    options.backoff_min_ms = 1;
    options.backoff_max_ms = 20;
    options.on_change = on_change;
    options.on_push = on_push;
    changes[0] = pushed[0] = '\0';
}

static void open_with(const struct hf_mem *mem, bool thread)
{
    struct hf_loop_options of_loop = {.mem = mem, .thread = thread};

    ck_assert_int_eq(hf_loop_new(&loop, &of_loop), HF_OK);
    lock();
    ck_assert_int_eq(hf_link_new(&link_, loop, &options), HF_OK);
    unlock();
}

/* Without a thread of its own: whoever asks drives. */
static void open_link(int port)
{
    prepare(port);
    memory_init(&memory);
    open_with(&memory.hook, false);
}

static void open_pubsub(void)
{
    lock();
    ck_assert_int_eq(hf_pubsub_new(&pubsub, loop, link_, &options), HF_OK);
    unlock();
}

static void free_link(void)
{
    lock();
    hf_loop_quiesce(loop);
    hf_pubsub_free(pubsub);
    pubsub = NULL;
    hf_link_free(link_);
    hf_loop_resume(loop);
    unlock();
    hf_loop_free(loop);
}

static void close_link(void)
{
    free_link();
    ck_assert_pstr_eq(memory_fini(&memory), NULL);
}

static void want(bool is_wanted)
{
    lock();
    hf_link_want(link_, is_wanted);
    unlock();
}

static struct hf_error error_now(void)
{
    struct hf_error e;

    lock();
    e = *hf_link_error(link_);
    unlock();
    return e;
}

static bool is_up(void)
{
    bool it_is;

    lock();
    it_is = hf_link_is_up(link_);
    unlock();
    return it_is;
}

static bool is_refused(void)
{
    bool it_is;

    lock();
    it_is = hf_link_is_refused(link_);
    unlock();
    return it_is;
}

/* Drives until it is so, which must not take long. */
static void drive_until(bool (*is_so)(void))
{
    int64_t end_ms = local_now_ms() + LONG_MS;

    while (!is_so()) {
        must(local_now_ms() < end_ms, "what is awaited comes");
        hf_loop_dispatch(loop, 5);
    }
}

/* [locked], or while nobody else drives. */
static struct hf_link_stats stats_now(void)
{
    struct hf_link_stats stats;

    hf_link_stats(link_, &stats);
    return stats;
}

static bool is_down(void)
{
    return !is_up();
}

/* ---- questions ---- */

struct ask {
    struct hf_request request;
    struct hf_waiter waiter;
    char text[256];
};

static void take_reply(char *dst, size_t room, struct hf_resp_value v)
{
    const char *ptr;
    int64_t n;
    size_t len;

    if (hf_resp_integer(v, &n) == HF_OK)
        (void)snprintf(dst, room, "%lld", (long long)n);
    else if (hf_resp_bytes(v, &ptr, &len) == HF_OK)
        (void)snprintf(dst, room, "%s%.*s",
                       hf_resp_is_error(v) ? "(error) " : "", (int)len, ptr);
    else if (hf_resp_is_null(v))
        (void)snprintf(dst, room, "(nil)");
    else
        (void)snprintf(dst, room, "(%zu elements)", hf_resp_count(v));
}

static const char *const outcome_texts[] = {
    [HF_UNSENT] = "(unsent)", [HF_UNKNOWN] = "(unknown)"};

static void on_done(struct hf_request *request, enum hf_outcome outcome,
                    struct hf_resp_value reply)
{
    struct ask *a = HF_OWNER_OF(request, struct ask, request);

    must(a->text[0] == '\0', "a request ends once");
    if (outcome == HF_ANSWERED)
        take_reply(a->text, sizeof a->text, reply);
    else
        (void)strcpy(a->text, outcome_texts[outcome]);
    hf_waiter_wake(&a->waiter);
}

/* Submits `words`, parted by spaces. timeout_ms < 0: no deadline. [locked] */
static hf_status submit(struct ask *a, const char *words, int timeout_ms)
{
    struct hf_resp_arg argv[WORDS_MAX];
    size_t argc = 0;

    for (const char *end; *words; words = *end ? end + 1 : end) {
        end = strchrnul(words, ' ');
        argv[argc++] = (struct hf_resp_arg){words, (size_t)(end - words)};
    }
    memset(a, 0, sizeof *a);
    hf_waiter_init(&a->waiter, loop);
    a->request.done = on_done;
    return hf_link_submit(link_, &a->request, argv, argc,
                          timeout_ms < 0 ? HF_NEVER
                                         : hf_loop_now(loop) + timeout_ms);
}

static void start(struct ask *a, const char *words, int timeout_ms)
{
    hf_status rc;

    lock();
    rc = submit(a, words, timeout_ms);
    unlock();
    must(rc == HF_OK, "a question is taken");
}

static const char *answer(struct ask *a)
{
    lock();
    hf_loop_wait(&a->waiter); /* the lock is free after */
    return a->text;
}

static const char *ask_for(int timeout_ms, const char *words)
{
    static struct ask a;

    start(&a, words, timeout_ms);
    return answer(&a);
}

static const char *ask(const char *words)
{
    return ask_for(LONG_MS, words);
}

/* Drives until the peer has executed so many commands. */
static void drive_until_received(struct peer *peer, size_t count)
{
    int64_t end_ms = local_now_ms() + LONG_MS;

    while (peer_received_count(peer) < count) {
        must(local_now_ms() < end_ms, "the peer gets what it expects");
        hf_loop_dispatch(loop, 1);
    }
}

static void drive_for(int ms)
{
    int64_t end_ms = local_now_ms() + ms;

    while (local_now_ms() < end_ms)
        hf_loop_dispatch(loop, 10);
}

static void end_with_peer(struct peer *peer)
{
    ck_assert_pstr_eq(peer_finish(peer), NULL);
    close_link();
    peer_free(peer);
}

/* ---- connecting ---- */

static int count_descriptors(void)
{
    DIR *dir = opendir("/proc/self/fd");
    int count = 0;

    while (readdir(dir))
        count++;
    (void)closedir(dir);
    return count;
}

START_TEST(link_connects_when_first_asked)
{
    static const struct peer_step script[] = {
        PEER_ACCEPT, PEER_GREET, PEER_EXPECT("ECHO a"), PEER_SEND("+a\r\n"),
        PEER_EXPECT("ECHO b"), PEER_SEND_SLOWLY("$1\r\nb\r\n"), PEER_END};
    struct peer *peer = peer_start(script);
    struct hf_link_stats stats;

    open_link(peer_port(peer));
    ck_assert_int_eq(hf_link_protocol(link_), 0);
    ck_assert(!is_up());
    ck_assert_str_eq(ask("ECHO a"), "a");
    ck_assert_str_eq(ask("ECHO b"), "b");
    ck_assert(is_up());
    ck_assert_int_eq(hf_link_protocol(link_), 3);
    ck_assert_int_eq(error_now().status, HF_OK);
    ck_assert_str_eq(changes, "+");
    stats = stats_now();
    ck_assert_uint_eq(stats.connects, 1);
    ck_assert_uint_eq(stats.requests, 2);
    end_with_peer(peer);
}
END_TEST

START_TEST(link_that_is_wanted_connects_by_itself)
{
    static const struct peer_step script[] = {PEER_ACCEPT, PEER_GREET, PEER_WAIT,
                                              PEER_END};
    struct peer *peer = peer_start(script);

    open_link(peer_port(peer));
    want(true);
    drive_until(is_up);
    peer_go(peer);
    end_with_peer(peer);
}
END_TEST

START_TEST(server_without_hello_is_asked_in_resp2)
{
    static const struct peer_step script[] = {
        PEER_ACCEPT, PEER_EXPECT("HELLO 3"),
        PEER_SEND("-ERR unknown command `HELLO`, with args beginning with: "
                  "`3`, \r\n"),
        PEER_GREET, PEER_EXPECT("ECHO a"), PEER_SEND("$1\r\na\r\n"), PEER_END};
    struct peer *peer = peer_start(script);

    open_link(peer_port(peer));
    ck_assert_str_eq(ask("ECHO a"), "a");
    ck_assert_int_eq(hf_link_protocol(link_), 2);
    end_with_peer(peer);
}
END_TEST

/* A link that is not up tells what its last connection spoke, not what it is
 * about to try. */
START_TEST(protocol_is_that_of_the_last_connection)
{
    static const struct peer_step script[] = {
        PEER_ACCEPT, PEER_EXPECT("HELLO 3"), PEER_WAIT,
        PEER_SEND("-NOPROTO sorry\r\n"), PEER_GREET, PEER_EXPECT("ECHO a"),
        PEER_SEND("$1\r\na\r\n"), PEER_CLOSE,
        PEER_ACCEPT, PEER_EXPECT("HELLO 3"), PEER_END};
    struct peer *peer = peer_start(script);
    struct ask a;

    open_link(peer_port(peer));
    start(&a, "ECHO a", LONG_MS);
    drive_until_received(peer, 1);
    ck_assert_int_eq(hf_link_protocol(link_), 0);
    peer_go(peer);
    ck_assert_str_eq(answer(&a), "a");
    ck_assert_int_eq(hf_link_protocol(link_), 2);
    want(true);
    drive_until(is_down);
    drive_until_received(peer, 3);
    ck_assert_int_eq(hf_link_protocol(link_), 2);
    end_with_peer(peer);
}
END_TEST

static const struct {
    const char *what;
    const char *bytes;                /* what they say to everyone */
    size_t len;
    enum peer_verb end;               /* and then; PEER_DO_WAIT: no more */
    hf_status status;
    const char *says;
} strangers[] = {
#define SAYS(bytes) bytes, sizeof(bytes) - 1
    {"HTTP", SAYS("HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n"),
     PEER_DO_CLOSE, HF_E_PROTOCOL, "not RESP"},
    {"SSH", SAYS("SSH-2.0-OpenSSH_9.2p1 Debian-2\r\n"), PEER_DO_WAIT,
     HF_E_PROTOCOL, "not RESP"},
    {"SMTP", SAYS("220 mail.example.org ESMTP\r\n"), PEER_DO_WAIT,
     HF_E_PROTOCOL, "not RESP"},
    {"a TLS alert", SAYS("\x15\x03\x01\0\x02\x02\x46"), PEER_DO_CLOSE,
     HF_E_PROTOCOL, "rediss://"},
    {"zeros", SAYS("\0\0\0\0"), PEER_DO_WAIT, HF_E_PROTOCOL, "not RESP"},
    {"an empty line", SAYS("\r\n"), PEER_DO_WAIT, HF_E_PROTOCOL, "not RESP"},
    {"a reply of 9 GB", SAYS("$9999999999\r\n"), PEER_DO_WAIT, HF_E_LIMIT,
     "not RESP"},
    {"OK to everything", SAYS("+OK\r\n"), PEER_DO_WAIT, HF_E_PROTOCOL, "HELLO"},
    {"a wrong password", SAYS("-WRONGPASS invalid username-password pair\r\n"),
     PEER_DO_WAIT, HF_E_AUTH, "WRONGPASS invalid username-password pair"},
    {"no password wanted", SAYS("-NOAUTH Authentication required.\r\n"),
     PEER_DO_WAIT, HF_E_AUTH, "NOAUTH"},
    {"silence and an end", SAYS(""), PEER_DO_CLOSE, HF_E_CONNECT,
     "is this a TLS port"},
    {"silence and a reset", SAYS(""), PEER_DO_RESET, HF_E_CONNECT,
     "is this a TLS port"},
    {"half a greeting and an end", SAYS("%7\r\n$6\r\nserver\r\n"),
     PEER_DO_CLOSE, HF_E_CONNECT, "before it answered HELLO"},
};

/* Each is asked two times; and tried once for each, but one that hangs up in
 * silence is not believed before the third time. */
#define TRIES_MAX 4
static struct peer_step stranger_script[4 * TRIES_MAX + 1];

static void write_stranger(int i)
{
    int tries = strangers[i].status == HF_E_CONNECT ? TRIES_MAX : 2;
    struct peer_step *step = stranger_script;

    while (tries-- > 0) {
        *step++ = (struct peer_step)PEER_ACCEPT;
        if (strangers[i].end == PEER_DO_RESET)
            *step++ = (struct peer_step)PEER_EXPECT("HELLO ...");
        if (strangers[i].len > 0)
            *step++ = (struct peer_step){.verb = PEER_DO_SEND,
                                         .text = strangers[i].bytes,
                                         .number = strangers[i].len};
        if (strangers[i].end != PEER_DO_WAIT)
            *step++ = (struct peer_step){.verb = strangers[i].end};
    }
    *step = (struct peer_step)PEER_END;
}

/* Who is no Redis, or does not want us, is told from who is not there just now:
 * an error at once, not at the deadline; in the stranger's words, without the
 * password. What is asked later is tried once more. */
START_TEST(stranger_is_refused_at_once)
{
    struct peer *peer;

    write_stranger(_i);
    peer = peer_start(stranger_script);
    prepare(peer_port(peer));
    options.url.has_password = true;
    (void)strcpy(options.url.password, PASSWORD);
    memory_init(&memory);
    open_with(&memory.hook, false);
    for (int i = 0; i < 2; i++) {
        int64_t start_ms = local_now_ms();
        struct hf_error e;

        ck_assert_str_eq(ask("ECHO a"), "(unsent)");
        ck_assert_int_lt(local_now_ms() - start_ms, QUICK_MS);
        e = error_now();
        ck_assert_msg(strstr(e.text, strangers[_i].says) != NULL, "%s: %s",
                      strangers[_i].what, e.text);
        ck_assert_int_eq(e.status, strangers[_i].status);
        ck_assert_ptr_nonnull(strstr(e.text, hf_link_address(link_)));
        ck_assert_ptr_null(strstr(e.text, PASSWORD));
        ck_assert(is_refused());
    }
    ck_assert_str_eq(changes, "");
    end_with_peer(peer);
}
END_TEST

START_TEST(nobody_listens)
{
    struct hf_error e;

    open_link(local_dead_port());
    ck_assert_str_eq(ask_for(60, "ECHO a"), "(unsent)");
    e = error_now();
    ck_assert_int_eq(e.status, HF_E_CONNECT);
    ck_assert_ptr_nonnull(strstr(e.text, "Connection refused"));
    ck_assert(!is_refused()); /* it may come yet */
    close_link();
}
END_TEST

START_TEST(port_that_accepts_and_is_silent_has_a_deadline)
{
    static const struct peer_step script[] = {PEER_ACCEPT, PEER_GONE,
                                              PEER_ACCEPT, PEER_GREET,
                                              PEER_EXPECT("ECHO b"),
                                              PEER_SEND("+b\r\n"), PEER_END};
    struct peer *peer = peer_start(script);
    struct hf_error e;

    prepare(peer_port(peer));
    options.connect_timeout_ms = 1000; /* enough for one that answers */
    options.backoff_min_ms = options.backoff_max_ms = 3000;
    memory_init(&memory);
    open_with(&memory.hook, false);
    ck_assert_str_eq(ask_for(1500, "ECHO a"), "(unsent)");
    e = error_now();
    ck_assert_int_eq(e.status, HF_E_CONNECT);
    ck_assert_ptr_nonnull(strstr(e.text, "did not answer HELLO in time"));
    ck_assert_str_eq(ask("ECHO b"), "b");
    end_with_peer(peer);
}
END_TEST

/* A listening socket whose backlog is full drops what comes: X1, without nft. */
static int full_port(int fds[4])
{
    struct sockaddr_in a = {.sin_family = AF_INET};
    socklen_t len = sizeof a;

    a.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    fds[0] = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    ck_assert_int_eq(bind(fds[0], (struct sockaddr *)&a, sizeof a), 0);
    ck_assert_int_eq(listen(fds[0], 0), 0);
    ck_assert_int_eq(getsockname(fds[0], (struct sockaddr *)&a, &len), 0);
    for (int i = 1; i < 4; i++) {
        fds[i] = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
        (void)connect(fds[i], (struct sockaddr *)&a, sizeof a);
    }
    return ntohs(a.sin_port);
}

START_TEST(connecting_has_a_deadline)
{
    struct hf_error e;
    int fds[4];

    prepare(full_port(fds));
    options.connect_timeout_ms = 50;
    memory_init(&memory);
    open_with(&memory.hook, false);
    ck_assert_str_eq(ask_for(150, "ECHO a"), "(unsent)");
    e = error_now();
    ck_assert_int_eq(e.status, HF_E_CONNECT);
    ck_assert_ptr_nonnull(strstr(e.text, "cannot connect in time"));
    close_link();
    for (int i = 0; i < 4; i++)
        (void)close(fds[i]);
}
END_TEST

START_TEST(link_may_be_freed_while_it_dials)
{
    int before, fds[4];

    open_link(full_port(fds));
    before = count_descriptors();
    want(true);
    hf_loop_dispatch(loop, 50);
    ck_assert_int_eq(count_descriptors(), before + 1);
    lock();
    hf_link_free(link_);
    link_ = NULL;
    unlock();
    ck_assert_int_eq(count_descriptors(), before);
    close_link();
    for (int i = 0; i < 4; i++)
        (void)close(fds[i]);
}
END_TEST

START_TEST(process_without_free_descriptors_says_so_and_recovers)
{
    static const struct peer_step script[] = {
        PEER_ACCEPT, PEER_GREET, PEER_EXPECT("ECHO a"), PEER_SEND("+a\r\n"),
        PEER_END};
    struct peer *peer = peer_start(script);
    struct rlimit old, none;

    open_link(peer_port(peer));
    (void)getrlimit(RLIMIT_NOFILE, &old);
    none = old;
    none.rlim_cur = (rlim_t)dup(0);
    (void)close((int)none.rlim_cur);
    (void)setrlimit(RLIMIT_NOFILE, &none);
    ck_assert_str_eq(ask_for(50, "ECHO x"), "(unsent)");
    (void)setrlimit(RLIMIT_NOFILE, &old);
    ck_assert_ptr_nonnull(strstr(error_now().text, strerror(EMFILE)));
    ck_assert_str_eq(ask("ECHO a"), "a");
    end_with_peer(peer);
}
END_TEST

/* Each name has more than one address, perhaps; the first that answers. */
START_TEST(name_is_resolved)
{
    static const struct peer_step script[] = {
        PEER_ACCEPT, PEER_GREET, PEER_EXPECT("ECHO a"), PEER_SEND("+a\r\n"),
        PEER_END};
    struct peer *peer = peer_start(script);

    prepare(peer_port(peer));
    (void)strcpy(options.url.host, "localhost");
    memory_init(&memory);
    open_with(&memory.hook, false);
    ck_assert_str_eq(ask("ECHO a"), "a");
    end_with_peer(peer);
}
END_TEST

static const struct name hosts[] = {
    {"two.test", .addresses = "127.0.0.2 127.0.0.1"}};

/* At 127.0.0.2: it is connected by the kernel, and says nothing, ever. */
static int silent_neighbour(int port)
{
    struct sockaddr_in a = {.sin_family = AF_INET,
                            .sin_port = htons((uint16_t)port)};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

    a.sin_addr.s_addr = htonl(INADDR_LOOPBACK + 1);
    ck_assert_int_eq(bind(fd, (struct sockaddr *)&a, sizeof a), 0);
    ck_assert_int_eq(listen(fd, 16), 0);
    return fd;
}

/* How many have connected to it since it was last asked. */
static int count_visitors(int fd)
{
    int count = 0, visitor;

    for (; (visitor = accept(fd, NULL, NULL)) >= 0; count++)
        (void)close(visitor);
    return count;
}

/* X2: a stopped server is connected first, and passed over after that. The one
 * that answered is first when the connection is lost. */
START_TEST(address_that_is_connected_and_silent_is_passed_over)
{
    static const struct peer_step script[] = {
        PEER_ACCEPT, PEER_GREET, PEER_EXPECT("ECHO a"), PEER_SEND("+a\r\n"),
        PEER_CLOSE,
        PEER_ACCEPT, PEER_GREET, PEER_EXPECT("ECHO b"), PEER_SEND("+b\r\n"),
        PEER_END};
    struct peer *peer = peer_start(script);
    int fd = silent_neighbour(peer_port(peer));
    int64_t start_ms = local_now_ms();

    prepare(peer_port(peer));
    (void)strcpy(options.url.host, "two.test");
    options.connect_timeout_ms = 500;
    memory_init(&memory);
    open_with(&memory.hook, false);
    ck_assert_str_eq(ask("ECHO a"), "a");
    ck_assert_int_ge(local_now_ms() - start_ms, 500);
    ck_assert_int_eq(count_visitors(fd), 1);
    drive_until(is_down);
    ck_assert_str_eq(ask("ECHO b"), "b");
    ck_assert_int_eq(count_visitors(fd), 0);
    end_with_peer(peer);
    (void)close(fd);
}
END_TEST

/* What lies before each attempt but the first is halved at most. */
static const struct {
    int min_ms, max_ms;
    size_t attempts;
    int least_ms;                     /* from the first to the last */
} backoffs[] = {
    {5, 20, 6, (5 + 10 + 20 + 20 + 20) / 2},
    {40, 1000, 4, (40 + 80 + 160) / 2},
    {0, 0, 10, 0},
};

START_TEST(attempts_are_spaced)
{
    struct proxy *proxy = proxy_start(local_dead_port());
    int64_t end_ms = local_now_ms() + LONG_MS, start_ms;

    prepare(proxy_port(proxy));
    options.backoff_min_ms = backoffs[_i].min_ms;
    options.backoff_max_ms = backoffs[_i].max_ms;
    memory_init(&memory);
    open_with(&memory.hook, false);
    start_ms = local_now_ms();
    want(true);
    while (proxy_accepted(proxy) < backoffs[_i].attempts) {
        must(local_now_ms() < end_ms, "so many attempts are made");
        hf_loop_dispatch(loop, 5);
    }
    ck_assert_int_ge(local_now_ms() - start_ms + 1, backoffs[_i].least_ms);
    close_link();
    proxy_stop(proxy);
}
END_TEST

/* ---- how a request ends ---- */

/* L3. With a second request behind it, or not. */
START_TEST(silent_peer_loses_the_connection)
{
    static const struct peer_step script[] = {
        PEER_ACCEPT, PEER_GREET, PEER_EXPECT("ECHO a"), PEER_GONE,
        PEER_ACCEPT, PEER_GREET, PEER_EXPECT("ECHO c"), PEER_SEND("+c\r\n"),
        PEER_END};
    struct peer *peer = peer_start(script);
    struct ask a, b;

    prepare(peer_port(peer));
    options.silence_ms = 500;
    memory_init(&memory);
    open_with(&memory.hook, false);
    start(&a, "ECHO a", -1);
    drive_until_received(peer, 1);
    start(&b, "ECHO b", -1);
    ck_assert_str_eq(answer(&a), "(unknown)");
    ck_assert_str_eq(answer(&b), "(unknown)");
    ck_assert_int_eq(error_now().status, HF_E_NOREPLY);
    ck_assert_str_eq(ask("ECHO c"), "c");
    ck_assert_str_eq(changes, "+-+");
    end_with_peer(peer);
}
END_TEST

#define PUSH ">2\r\n+hello\r\n+you\r\n"

/* V2: redis-py CVE-2023-28858. Something was heard since it was sent, so the
 * peer lives; what was given up keeps its place. */
START_TEST(late_reply_of_a_talking_peer_goes_to_nobody)
{
    static const struct peer_step script[] = {
        PEER_ACCEPT, PEER_GREET, PEER_EXPECT("ECHO a"), PEER_WAIT,
        PEER_SEND(PUSH), PEER_EXPECT("ECHO b"), PEER_WAIT,
        PEER_SEND("+a\r\n+b\r\n"), PEER_END};
    struct peer *peer = peer_start(script);
    struct ask a, b;

    open_link(peer_port(peer));
    start(&a, "ECHO a", 1000);
    drive_until_received(peer, 1);
    peer_go(peer);
    while (pushed[0] == '\0')
        hf_loop_dispatch(loop, 1);
    ck_assert_str_eq(answer(&a), "(unknown)");
    start(&b, "ECHO b", LONG_MS);
    drive_until_received(peer, 2);
    peer_go(peer);
    ck_assert_str_eq(answer(&b), "b");
    ck_assert_str_eq(changes, "+");
    end_with_peer(peer);
}
END_TEST

/* Requests without a deadline are in flight, fewer wait behind them (L2), and
 * the peer is silent: those that wait must not time out for ever. */
START_TEST(silent_peer_is_left_by_those_who_only_wait_their_turn)
{
    static const struct peer_step script[] = {
        PEER_ACCEPT, PEER_GREET, PEER_EXPECT("ECHO a"), PEER_EXPECT("ECHO b"),
        PEER_GONE, PEER_ACCEPT, PEER_GREET, PEER_EXPECT("ECHO d"),
        PEER_SEND("+d\r\n"), PEER_END};
    struct peer *peer = peer_start(script);
    struct ask a, b;

    prepare(peer_port(peer));
    options.silence_ms = 1000;
    memory_init(&memory);
    open_with(&memory.hook, false);
    start(&a, "ECHO a", -1);
    start(&b, "ECHO b", -1);
    drive_until_received(peer, 2);
    ck_assert_str_eq(ask_for(20, "ECHO c"), "(unsent)");
    ck_assert_str_eq(answer(&a), "(unknown)");
    ck_assert_str_eq(answer(&b), "(unknown)");
    ck_assert_str_eq(ask("ECHO d"), "d");
    end_with_peer(peer);
}
END_TEST

/* Nothing was awaited while nothing was asked. */
START_TEST(idle_link_is_not_taken_for_silent)
{
    static const struct peer_step script[] = {
        PEER_ACCEPT, PEER_GREET, PEER_EXPECT("ECHO a"), PEER_SEND("+a\r\n"),
        PEER_EXPECT("ECHO b"), PEER_WAIT, PEER_SEND("+b\r\n"), PEER_END};
    struct peer *peer = peer_start(script);
    struct ask b;

    prepare(peer_port(peer));
    options.silence_ms = 1000;
    memory_init(&memory);
    open_with(&memory.hook, false);
    ck_assert_str_eq(ask("ECHO a"), "a");
    local_rest_us(1100000);
    start(&b, "ECHO b", LONG_MS);
    drive_until_received(peer, 2);
    hf_loop_dispatch(loop, 1);
    peer_go(peer);
    ck_assert_str_eq(answer(&b), "b");
    ck_assert_str_eq(changes, "+");
    end_with_peer(peer);
}
END_TEST

static const struct {
    const char *words;
    uint64_t writes;                  /* so far, when it was asked */
} turns[] = {
    {"ECHO a", 1}, /* alone */
    {"ECHO b", 2}, /* one is queued, one in flight */
    {"ECHO c", 2}, {"ECHO d", 3}, /* two and two */
    {"ECHO e", 3}, {"ECHO f", 3}, /* two and four */
};

/* L2: under load a batch waits for the one before it; alone, nothing waits. */
START_TEST(queued_requests_go_when_no_more_is_in_flight)
{
    enum { COUNT = sizeof turns / sizeof *turns };
    static const struct peer_step script[] = {
        PEER_ACCEPT, PEER_GREET, PEER_EXPECT("PING"), PEER_SEND("+PONG\r\n"),
        PEER_EXPECT("ECHO a"), PEER_EXPECT("ECHO b"), PEER_EXPECT("ECHO c"),
        PEER_EXPECT("ECHO d"), PEER_WAIT, PEER_SEND("+a\r\n+b\r\n"),
        PEER_EXPECT("ECHO e"), PEER_EXPECT("ECHO f"),
        PEER_SEND("+c\r\n+d\r\n+e\r\n+f\r\n"), PEER_END};
    struct peer *peer = peer_start(script);
    struct ask asks[COUNT];
    uint64_t writes;

    open_link(peer_port(peer));
    ck_assert_str_eq(ask("PING"), "PONG");
    writes = stats_now().writes;
    for (int i = 0; i < COUNT; i++) {
        start(&asks[i], turns[i].words, LONG_MS);
        ck_assert_uint_eq(stats_now().writes - writes,
                          turns[i].writes);
    }
    peer_go(peer);
    for (int i = 0; i < COUNT; i++)
        ck_assert_str_eq(answer(&asks[i]), turns[i].words + 5);
    ck_assert_uint_eq(stats_now().writes - writes, 4);
    end_with_peer(peer);
}
END_TEST

/* What an operator reads: connections that came and went, and why they did not
 * come. */
START_TEST(connections_are_counted)
{
    static const struct peer_step script[] = {
        PEER_ACCEPT, PEER_GREET, PEER_EXPECT("ECHO a"), PEER_SEND("+a\r\n"),
        PEER_CLOSE, PEER_ACCEPT, PEER_CLOSE, PEER_ACCEPT, PEER_GREET,
        PEER_EXPECT("ECHO b"), PEER_SEND("+b\r\n"), PEER_END};
    struct peer *peer = peer_start(script);
    struct hf_link_stats stats;

    open_link(peer_port(peer));
    ck_assert_str_eq(ask("ECHO a"), "a");
    drive_until(is_down);
    ck_assert_str_eq(ask("ECHO b"), "b");
    stats = stats_now();
    ck_assert_uint_eq(stats.connects, 2);
    ck_assert_uint_eq(stats.losses, 1);
    ck_assert_uint_eq(stats.failures, 1);
    ck_assert_uint_eq(stats.answered, 2);
    ck_assert_uint_eq(stats.latency_us.count, 2);
    ck_assert_uint_eq(stats.batch.count, 2);
    end_with_peer(peer);
}
END_TEST

/* Whatever it says, it is there. */
START_TEST(slow_peer_that_talks_is_not_left)
{
    static const struct peer_step script[] = {
        PEER_ACCEPT, PEER_GREET, PEER_EXPECT("ECHO a"),
        PEER_WAIT, PEER_SEND(PUSH), PEER_WAIT, PEER_SEND(PUSH),
        PEER_WAIT, PEER_SEND(PUSH), PEER_WAIT, PEER_SEND("+a\r\n"), PEER_END};
    struct peer *peer = peer_start(script);
    struct ask a;

    prepare(peer_port(peer));
    options.silence_ms = 2000;
    memory_init(&memory);
    open_with(&memory.hook, false);
    start(&a, "ECHO a", LONG_MS);
    drive_until_received(peer, 1);
    for (int i = 0; i < 4; i++) {
        drive_for(600);
        peer_go(peer);
    }
    ck_assert_str_eq(answer(&a), "a");
    ck_assert_str_eq(changes, "+");
    end_with_peer(peer);
}
END_TEST

START_TEST(cancelled_request_is_over)
{
    static const struct peer_step script[] = {
        PEER_ACCEPT, PEER_GREET, PEER_EXPECT("ECHO b"), PEER_EXPECT("ECHO c"),
        PEER_WAIT, PEER_SEND("+b\r\n+c\r\n"), PEER_EXPECT("ECHO d"),
        PEER_SEND("+d\r\n"), PEER_END};
    struct peer *peer = peer_start(script);
    struct ask a, b, c;

    open_link(peer_port(peer));
    lock();
    ck_assert_int_eq(submit(&a, "ECHO a", 1000), HF_OK);
    ck_assert_int_eq(submit(&b, "ECHO b", 1000), HF_OK);
    ck_assert_int_eq(submit(&c, "ECHO c", LONG_MS), HF_OK);
    ck_assert_int_eq(hf_link_cancel(&a.request), HF_UNSENT);
    unlock();
    drive_until_received(peer, 2);
    lock();
    ck_assert_int_eq(hf_link_cancel(&b.request), HF_UNKNOWN);
    unlock();
    peer_go(peer);
    ck_assert_str_eq(answer(&c), "c");
    ck_assert_str_eq(ask("ECHO d"), "d");
    drive_for(1000); /* past the deadlines of the cancelled */
    ck_assert_str_eq(a.text, "");
    ck_assert_str_eq(b.text, "");
    end_with_peer(peer);
}
END_TEST

START_TEST(free_ends_all_requests)
{
    static const struct peer_step script[] = {PEER_ACCEPT, PEER_GREET,
                                              PEER_EXPECT("ECHO a"), PEER_END};
    struct peer *peer = peer_start(script);
    struct ask a, b, c;

    open_link(peer_port(peer));
    start(&a, "ECHO a", -1);
    drive_until_received(peer, 1);
    start(&b, "ECHO b", LONG_MS);
    lock();
    ck_assert_int_eq(submit(&c, "ECHO c", LONG_MS), HF_OK);
    hf_loop_quiesce(loop);
    hf_link_free(link_);
    hf_link_free(NULL);
    hf_loop_resume(loop);
    unlock();
    hf_loop_free(loop);
    ck_assert_str_eq(a.text, "(unknown)");
    ck_assert_str_eq(b.text, "(unknown)");
    ck_assert_str_eq(c.text, "(unsent)");
    ck_assert_pstr_eq(memory_fini(&memory), NULL);
    peer_free(peer);
}
END_TEST

static void condemn_when_done(struct hf_request *request,
                              enum hf_outcome outcome,
                              struct hf_resp_value reply)
{
    on_done(request, outcome, reply);
    if (outcome == HF_ANSWERED)
        hf_link_condemn(link_, "that was no answer");
}

/* From within a read: nothing more of it is believed. */
START_TEST(condemned_link_connects_anew)
{
    static const struct peer_step script[] = {
        PEER_ACCEPT, PEER_GREET, PEER_EXPECT("ECHO a"), PEER_EXPECT("ECHO b"),
        PEER_SEND("+forged\r\n+a\r\n"), PEER_GONE,
        PEER_ACCEPT, PEER_GREET, PEER_EXPECT("ECHO c"), PEER_SEND("+c\r\n"),
        PEER_END};
    struct peer *peer = peer_start(script);
    struct ask a, b;

    open_link(peer_port(peer));
    lock();
    ck_assert_int_eq(submit(&a, "ECHO a", LONG_MS), HF_OK);
    ck_assert_int_eq(submit(&b, "ECHO b", LONG_MS), HF_OK);
    a.request.done = condemn_when_done;
    unlock();
    ck_assert_str_eq(answer(&a), "forged");
    ck_assert_str_eq(answer(&b), "(unknown)");
    ck_assert_int_eq(error_now().status, HF_E_PROTOCOL);
    ck_assert_ptr_nonnull(strstr(error_now().text, "that was no answer"));
    ck_assert_str_eq(ask("ECHO c"), "c");
    ck_assert_str_eq(changes, "+-+");
    end_with_peer(peer);
}
END_TEST

/* And from a caller: it takes effect in the next turn. */
START_TEST(link_may_be_condemned_between_replies)
{
    static const struct peer_step script[] = {
        PEER_ACCEPT, PEER_GREET, PEER_EXPECT("ECHO a"), PEER_SEND("+a\r\n"),
        PEER_GONE, PEER_ACCEPT, PEER_GREET, PEER_EXPECT("ECHO b"),
        PEER_SEND("+b\r\n"), PEER_END};
    struct peer *peer = peer_start(script);

    open_link(peer_port(peer));
    ck_assert_str_eq(ask("ECHO a"), "a");
    lock();
    hf_link_condemn(link_, "it lies");
    unlock();
    ck_assert_str_eq(ask("ECHO b"), "b");
    ck_assert_str_eq(changes, "+-+");
    end_with_peer(peer);
}
END_TEST

START_TEST(full_link_takes_no_more)
{
    struct ask a, b, c;

    prepare(local_dead_port());
    options.requests_max = 2;
    memory_init(&memory);
    open_with(&memory.hook, false);
    lock();
    ck_assert_int_eq(submit(&a, "ECHO a", 20), HF_OK);
    ck_assert_int_eq(submit(&b, "ECHO b", 40), HF_OK);
    ck_assert_int_eq(submit(&c, "ECHO c", 20), HF_E_LIMIT);
    unlock();
    ck_assert_str_eq(answer(&a), "(unsent)");
    start(&c, "ECHO c", 20);
    ck_assert_str_eq(answer(&c), "(unsent)");
    ck_assert_str_eq(answer(&b), "(unsent)");
    close_link();
}
END_TEST

/* ---- a real server ---- */

static void start_server_with_password(void)
{
    static const char *const args[] = {"--requirepass", PASSWORD, NULL};

    start_server_with(args);
}

START_TEST(real_server_answers)
{
    open_link(server_port(server));
    ck_assert_str_eq(ask("SET k v"), "OK");
    ck_assert_str_eq(ask("GET k"), "v");
    ck_assert_str_eq(ask("GET none"), "(nil)");
    ck_assert_str_eq(ask("INCR k"),
                     "(error) ERR value is not an integer or out of range");
    ck_assert_str_eq(server_ask(server, "GET k"), "v");
    close_link();
}
END_TEST

START_TEST(link_goes_over_a_unix_socket)
{
    prepare(1);
    options.url.kind = HF_URL_UNIX;
    options.url.database = 3;
    options.client_name = "by-file";
    (void)snprintf(options.url.path, sizeof options.url.path, "%s",
                   server_unix_path(server));
    memory_init(&memory);
    open_with(&memory.hook, false);
    ck_assert_str_eq(ask("CLIENT GETNAME"), "by-file");
    ck_assert_str_eq(ask("SET k v"), "OK");
    ck_assert_str_eq(server_ask(server, "EXISTS k"), "0"); /* in database 0 */
    close_link();
}
END_TEST

static const struct {
    const char *user;
    const char *password;             /* NULL: none */
    const char *says;                 /* NULL: welcome */
} visitors[] = {
    {"", PASSWORD, NULL},         {"default", PASSWORD, NULL},
    {"", "wrong", "WRONGPASS"},   {"nobody", PASSWORD, "WRONGPASS"},
    {"", NULL, "NOAUTH"},
};

START_TEST(server_says_who_may_come_in)
{
    for (int protocol = 2; protocol <= 3; protocol++) {
        const char *password = visitors[_i].password;

        prepare(server_port(server));
        options.protocol = protocol;
        options.url.has_password = password != NULL;
        (void)strcpy(options.url.user, visitors[_i].user);
        (void)strcpy(options.url.password, password ? password : "");
        memory_init(&memory);
        open_with(&memory.hook, false);
        ck_assert_str_eq(ask("PING"), visitors[_i].says ? "(unsent)" : "PONG");
        ck_assert_int_eq(is_refused(), visitors[_i].says != NULL);
        if (visitors[_i].says) {
            ck_assert_int_eq(error_now().status, HF_E_AUTH);
            ck_assert_ptr_nonnull(strstr(error_now().text, visitors[_i].says));
            ck_assert_ptr_null(strstr(error_now().text, PASSWORD));
        }
        close_link();
    }
}
END_TEST

/* What the allocator gets back is looked at: nobody may find it there. */
static void *resize_and_look(void *ctx, void *ptr, size_t old, size_t size)
{
    if (ptr && size < old)
        must(!memmem((char *)ptr + size, old - size, PASSWORD,
                     strlen(PASSWORD)),
             "freed memory holds no password");
    return hf_mem_libc.resize(ctx, ptr, old, size);
}

START_TEST(password_is_wiped)
{
    static const struct hf_mem looking = {resize_and_look, NULL};

    prepare(server_port(server));
    options.url.has_password = true;
    (void)strcpy(options.url.password, PASSWORD);
    open_with(&looking, false);
    open_pubsub();
    ck_assert_str_eq(ask("PING"), "PONG");
    free_link();
}
END_TEST

/* ---- cuts, at every byte ---- */

#define THREE 3
#define INCR_LEN (sizeof "*2\r\n$4\r\nINCR\r\n$1\r\nn\r\n" - 1)
#define REPLY_LEN (sizeof ":1\r\n" - 1)

static const struct {
    enum proxy_way way;
    enum proxy_end end;
    size_t bytes;                     /* of three requests that way */
} cuts[] = {
    {PROXY_TO_SERVER, PROXY_CLOSE, THREE * INCR_LEN},
    {PROXY_TO_SERVER, PROXY_RESET, THREE * INCR_LEN},
    {PROXY_TO_CLIENT, PROXY_CLOSE, THREE * REPLY_LEN},
    {PROXY_TO_CLIENT, PROXY_RESET, THREE * REPLY_LEN},
};

static int count_now(void)
{
    return (int)server_ask_int(server, "INCRBY n 0");
}

/* On a new connection: whatever the old one left is over then (design 11). */
static void settle(void)
{
    int tries = 0;

    while (strcmp(ask("PING"), "PONG") != 0) /* cut behind the last reply */
        ck_assert_int_lt(++tries, 3);
}

/* What is claimed of three INCR against what the server did. Returns that. */
static int check_claims(struct ask asks[THREE])
{
    int answered = 0, unknown = 0, done;
    char number[16];

    for (int i = 0; i < THREE; i++) {
        const char *text = answer(&asks[i]);

        (void)snprintf(number, sizeof number, "%d", i + 1);
        if (strcmp(text, number) == 0)
            answered++;
        else if (strcmp(text, "(unknown)") == 0)
            unknown++;
        else
            ck_assert_str_eq(text, "(unsent)");
        ck_assert(answered == i + 1 || strcmp(text, number) != 0);
    }
    settle();
    done = count_now();
    ck_assert_int_ge(done, answered);
    ck_assert_int_le(done, answered + unknown);
    return done;
}

START_TEST(outcome_is_true_wherever_the_connection_was_cut)
{
    struct proxy *proxy = proxy_start(server_port(server));
    struct ask asks[THREE];
    int done;

    open_link(proxy_port(proxy));
    for (size_t cut = 0; cut <= cuts[_i].bytes; cut++) {
        settle();
        (void)server_ask(server, "DEL n");
        proxy_cut_after(proxy, cuts[_i].way, cut, cuts[_i].end);
        lock();
        for (int i = 0; i < THREE; i++)
            ck_assert_int_eq(submit(&asks[i], "INCR n", LONG_MS), HF_OK);
        unlock();
        done = check_claims(asks);
        if (cuts[_i].way == PROXY_TO_SERVER)
            ck_assert_int_le(done, (int)(cut / INCR_LEN));
        ck_assert_int_eq(count_now(), done);
        /* The byte in place of which it would be cut may be yet to come. */
        ck_assert(proxy_has_cut(proxy));
    }
    close_link();
    proxy_stop(proxy);
}
END_TEST

/* While it is greeted: the request waits, and is done once on the next
 * connection; unless the cut came behind its first byte. */
START_TEST(request_survives_a_cut_in_the_greeting)
{
    struct proxy *proxy = proxy_start(server_port(server));
    bool has_cut = true;

    for (size_t cut = 0; has_cut; cut += cut < 100 ? 1 : 17) {
        const char *text;

        (void)server_ask(server, "DEL n");
        proxy_cut_after(proxy, cuts[_i].way, cut, cuts[_i].end);
        open_link(proxy_port(proxy));
        text = ask("INCR n");
        has_cut = proxy_has_cut(proxy);
        if (strcmp(text, "(unknown)") == 0) {
            settle();
            ck_assert_int_le(count_now(), 1);
        } else {
            ck_assert_str_eq(text, "1");
            ck_assert_int_eq(count_now(), 1);
        }
        close_link();
    }
    proxy_stop(proxy);
}
END_TEST

/* ---- servers that go and come ---- */

START_TEST(link_comes_back_after_its_server)
{
    struct ask a;

    open_link(server_port(server));
    want(true);
    ck_assert_str_eq(ask("SET k v"), "OK");
    server_kill(server);
    drive_until(is_down);
    ck_assert_str_eq(ask_for(30, "GET k"), "(unsent)");
    ck_assert_int_eq(error_now().status, HF_E_CONNECT);
    start(&a, "GET k", LONG_MS);
    server_restart(server);
    ck_assert_str_eq(answer(&a), "(nil)"); /* another life of the server */
    ck_assert_int_eq(error_now().status, HF_OK);
    ck_assert_str_eq(changes, "+-+");
    close_link();
}
END_TEST

START_TEST(killed_client_comes_back)
{
    open_link(server_port(server));
    want(true);
    for (int i = 0; i < 10; i++) {
        ck_assert_str_eq(ask("PING"), "PONG");
        ck_assert_str_eq(
            server_ask(server, "CLIENT KILL TYPE normal SKIPME yes"), "1");
        drive_until(is_down);
        drive_until(is_up);
    }
    ck_assert_uint_eq(stats_now().connects, 11);
    /* None is left behind: the witness and we. */
    ck_assert_str_eq(ask("PING"), "PONG");
    ck_assert_str_eq(server_ask(server, "CLIENT KILL TYPE normal SKIPME yes"),
                     "1");
    close_link();
}
END_TEST

/* A command and its reply, once the buffers are there. */
START_TEST(steady_path_allocates_nothing)
{
    uint64_t before;

    open_link(server_port(server));
    for (int i = 0; i < 100; i++)
        ck_assert_str_eq(ask("ECHO a"), "a");
    before = memory_counts(&memory).asked;
    for (int i = 0; i < 1000; i++)
        must(strcmp(ask("ECHO a"), "a") == 0, "it answers");
    ck_assert_uint_eq(memory_counts(&memory).asked, before);
    close_link();
}
END_TEST

/* In the child; the number of the first broken promise. */
static int use_the_parents_link(void)
{
    struct hf_room room = {.ready = NULL};
    struct hf_pubsub *none = NULL;
    struct hf_link *other = NULL;
    struct ask a;

    alarm(20);
    lock();
    if (submit(&a, "ECHO child", -1) != HF_E_FORKED)
        return 1;
    if (hf_link_await_room(link_, &room, 10) != HF_E_FORKED)
        return 2;
    if (hf_link_new(&other, loop, &options) != HF_E_FORKED || other)
        return 3;
    if (hf_pubsub_new(&none, loop, link_, &options) != HF_E_FORKED || none)
        return 4;
    hf_link_want(link_, false);
    hf_link_condemn(link_, "the child says so");
    unlock();
    free_link();
    return 0;
}

/* A request is in flight, and a second one is queued: the child's end of the
 * link ends its copy of both, and the parent gets its answers. */
START_TEST(child_process_harms_no_link)
{
    struct ask a, b;
    int status;
    pid_t child;

    open_link(server_port(server));
    ck_assert_str_eq(ask("PING"), "PONG");
    server_pause(server);
    start(&a, "ECHO a", LONG_MS);
    start(&b, "ECHO b", LONG_MS);
    child = fork();
    if (child == 0)
        _exit(use_the_parents_link());
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert_int_eq(status, 0);
    server_resume(server);
    ck_assert_str_eq(answer(&a), "a");
    ck_assert_str_eq(answer(&b), "b");
    ck_assert_str_eq(ask("ECHO c"), "c");
    ck_assert_str_eq(changes, "+");
    close_link();
}
END_TEST

/* The server says so in place of its first answer, whatever that is for, and
 * hangs up. */
static const struct {
    int protocol;
    const char *password;
} crowded[] = {{3, NULL}, {3, PASSWORD}, {2, NULL}, {2, PASSWORD}};

START_TEST(too_many_clients_is_an_answer_for_now)
{
    if (crowded[_i].password)
        (void)server_ask(server, "CONFIG SET requirepass %s", PASSWORD);
    (void)server_ask(server, "CONFIG SET maxclients 1"); /* the witness */
    prepare(server_port(server));
    options.protocol = crowded[_i].protocol;
    options.url.has_password = crowded[_i].password != NULL;
    (void)strcpy(options.url.password,
                 crowded[_i].password ? crowded[_i].password : "");
    memory_init(&memory);
    open_with(&memory.hook, false);
    for (int i = 0; i < 5; i++) {
        ck_assert_str_eq(ask_for(50, "PING"), "(unsent)");
        ck_assert_ptr_nonnull(
            strstr(error_now().text, "max number of clients reached"));
        ck_assert(!is_refused());
    }
    (void)server_ask(server, "CONFIG SET maxclients 100");
    ck_assert_str_eq(ask("PING"), "PONG");
    close_link();
}
END_TEST

/* faults 22: a server that does not read. The kernel's buffers fill, then ours
 * up to the limit, then nothing more is taken; when it goes on, every question
 * has its answer. */
START_TEST(stopped_server_costs_bounded_memory_and_no_answer)
{
    enum { COUNT = 4000, SIZE = 10000 };
    static struct ask asks[COUNT];
    static char words[SIZE + 1];
    hf_status rc;
    int taken = 0;

    prepare(server_port(server));
    options.silence_ms = 4 * LONG_MS;
    options.output_max = 8 << 20; /* more than the kernel takes at once */
    memory_init(&memory);
    open_with(&memory.hook, false);
    (void)memset(words, 'x', SIZE);
    (void)memcpy(words, "ECHO ", 5);
    ck_assert_str_eq(ask("PING"), "PONG");
    server_pause(server);
    lock();
    while ((rc = submit(&asks[taken], words, -1)) == HF_OK)
        must(++taken < COUNT, "there is an end to what is taken");
    unlock();
    ck_assert_int_eq(rc, HF_E_LIMIT);
    for (int i = 0; i < 10; i++)
        hf_loop_dispatch(loop, 1);
    /* Doubled, and the old block while it is copied; and the loop itself. */
    ck_assert_uint_lt(memory_counts(&memory).peak_bytes, 4 * options.output_max);
    server_resume(server);
    for (int i = 0; i < taken; i++)
        must(answer(&asks[i])[0] == 'x', "each is answered");
    ck_assert_str_eq(ask("PING"), "PONG");
    ck_assert_str_eq(changes, "+");
    close_link();
}
END_TEST

/* X1: the kernel's buffers are full, and nobody takes anything. Whether a byte of
 * it was written or not, a request ends at its deadline. */
START_TEST(write_that_nobody_takes_has_a_deadline)
{
    enum { COUNT = 3000, SIZE = 10000, TIMEOUT_MS = 100 };
    static struct ask asks[COUNT];
    static char words[SIZE + 1];
    int unsent = 0;

    open_link(server_port(server));
    (void)memset(words, 'x', SIZE);
    (void)memcpy(words, "ECHO ", 5);
    ck_assert_str_eq(ask("PING"), "PONG");
    server_pause(server);
    for (int i = 0; i < COUNT; i++)
        start(&asks[i], words, TIMEOUT_MS);
    for (int i = 0; i < COUNT; i++) {
        const char *text = answer(&asks[i]);

        must(strcmp(text, "(unknown)") == 0 || strcmp(text, "(unsent)") == 0,
             "nothing is answered");
        unsent += strcmp(text, "(unsent)") == 0;
    }
    ck_assert_int_gt(unsent, 0);
    server_resume(server);
    ck_assert_str_eq(ask("PING"), "PONG");
    close_link();
}
END_TEST

static uint64_t bytes_out_before;

static bool has_written(void)
{
    bool has;

    lock();
    has = stats_now().bytes_out > bytes_out_before;
    unlock();
    return has;
}

/* What a stopped server finds when it goes on: the request of a connection that
 * has ended, and the greeting of the next one. */
START_TEST(request_left_in_a_stopped_server_is_not_done_later)
{
    struct ask a;

    prepare(server_port(server));
    options.silence_ms = 50;
    memory_init(&memory);
    open_with(&memory.hook, false);
    for (int i = 0; i < 20; i++) {
        settle();
        (void)server_ask(server, "DEL k");
        server_pause(server);
        ck_assert_str_eq(ask("SET k late"), "(unknown)");
        bytes_out_before = stats_now().bytes_out;
        start(&a, "GET k", LONG_MS);
        drive_until(has_written); /* HELLO is behind SET now */
        server_resume(server);
        (void)answer(&a);
        for (int n = 0; n < 3; n++)
            ck_assert_str_eq(server_ask(server, "GET k"), a.text);
    }
    close_link();
}
END_TEST

/* A way to the server that holds back what the first connection sends, and its
 * end. Nobody drives it but the test, between turns of the loop. */
static struct relay {
    int listener, port;
    int pairs[4][2];                  /* the client's side, the server's side */
    int count;
    bool is_first_held;
} relay;

static int connect_to_server(void)
{
    struct sockaddr_in a = {.sin_family = AF_INET,
                            .sin_port = htons((uint16_t)server_port(server))};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    a.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    ck_assert_int_eq(connect(fd, (struct sockaddr *)&a, sizeof a), 0);
    local_prepare(fd);
    return fd;
}

/* Moves what there is; an end is passed on, too. */
static void relay_move(int from, int to)
{
    char bytes[4096];
    ssize_t n = recv(from, bytes, sizeof bytes, MSG_DONTWAIT);

    if (n > 0)
        (void)send(to, bytes, (size_t)n, MSG_NOSIGNAL);
    else if (n == 0)
        (void)shutdown(to, SHUT_WR);
}

static void relay_pump(void)
{
    int fd = accept4(relay.listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

    if (fd >= 0) {
        ck_assert_int_lt(relay.count, 4);
        relay.pairs[relay.count][0] = fd;
        relay.pairs[relay.count++][1] = connect_to_server();
    }
    for (int i = relay.is_first_held; i < relay.count; i++) {
        relay_move(relay.pairs[i][0], relay.pairs[i][1]);
        relay_move(relay.pairs[i][1], relay.pairs[i][0]);
    }
}

static const char *ask_by_relay(const char *words)
{
    static struct ask a;
    int64_t end_ms = local_now_ms() + LONG_MS;

    start(&a, words, LONG_MS);
    while (a.text[0] == '\0') {
        must(local_now_ms() < end_ms, "a request ends");
        relay_pump();
        hf_loop_dispatch(loop, 1);
    }
    return a.text;
}

/* faults 0.13, design 11: SET is on its way when its connection is given up, and
 * arrives when GET on the next one was answered. But the next one began with
 * CLIENT KILL: nobody takes it in. */
START_TEST(request_that_arrives_after_its_successor_is_not_done)
{
    relay.listener = local_listen(&relay.port);
    prepare(relay.port);
    options.silence_ms = 1000;
    memory_init(&memory);
    open_with(&memory.hook, false);
    ck_assert_str_eq(ask_by_relay("PING"), "PONG");
    relay.is_first_held = true;
    ck_assert_str_eq(ask_by_relay("SET k late"), "(unknown)");
    ck_assert_str_eq(ask_by_relay("GET k"), "(nil)");
    relay.is_first_held = false;
    for (int i = 0; i < 10; i++)
        ck_assert_str_eq(ask_by_relay("PING"), "PONG");
    ck_assert_str_eq(server_ask(server, "GET k"), "(nil)");
    close_link();
    for (int i = 0; i < relay.count; i++) {
        (void)close(relay.pairs[i][0]);
        (void)close(relay.pairs[i][1]);
    }
    (void)close(relay.listener);
}
END_TEST

/* ---- subscriptions ---- */

struct ear {
    struct hf_subscription s;
    char story[256];                  /* + live, - lost, and the messages */
};
static struct ear ears[100];

static void on_message(struct hf_subscription *s, const char *ptr, size_t len)
{
    struct ear *ear = HF_OWNER_OF(s, struct ear, s);
    char text[32];

    (void)snprintf(text, sizeof text, "%.*s", (int)len, ptr);
    append(ear->story, sizeof ear->story, text);
}

static void on_ear_change(struct hf_subscription *s, bool is_live)
{
    struct ear *ear = HF_OWNER_OF(s, struct ear, s);

    append(ear->story, sizeof ear->story, is_live ? "+" : "-");
}

/* [locked] */
static hf_status listen_as(struct ear *ear, const char *channel,
                           bool is_sharded)
{
    memset(ear, 0, sizeof *ear);
    ear->s.is_sharded = is_sharded;
    ear->s.channel = channel;
    ear->s.channel_len = strlen(channel);
    ear->s.on_message = on_message;
    ear->s.on_change = on_ear_change;
    return hf_pubsub_add(pubsub, &ear->s);
}

/* [locked] */
static hf_status listen_to(struct ear *ear, const char *channel)
{
    return listen_as(ear, channel, false);
}

static void start_listening(struct ear *ear, const char *channel)
{
    lock();
    ck_assert_int_eq(listen_to(ear, channel), HF_OK);
    unlock();
}

static void stop_listening(struct ear *ear)
{
    lock();
    hf_pubsub_drop(&ear->s);
    unlock();
}

/* Drives until the ear's story is this one. */
static void await_story(struct ear *ear, const char *expected)
{
    int64_t end_ms = local_now_ms() + LONG_MS;

    while (strcmp(ear->story, expected) != 0) {
        if (local_now_ms() > end_ms)
            ck_abort_msg("it hears '%s', not '%s'", ear->story, expected);
        hf_loop_dispatch(loop, 5);
    }
}

/* Servers with RESP3, with RESP2 asked for, and with no HELLO at all. */
static const char *const no_hello[] = {"--rename-command", "HELLO", "", NULL};
static const struct {
    const char *const *args;
    int protocol;
} worlds[] = {{NULL, 3}, {NULL, 2}, {no_hello, 3}};

static void open_world(int i)
{
    start_server_with(worlds[i].args);
    prepare(server_port(server));
    options.protocol = worlds[i].protocol;
    memory_init(&memory);
    open_with(&memory.hook, false);
    open_pubsub();
}

static void close_world(void)
{
    close_link();
    stop_server();
}

/* Begun before the first connection, or after. */
START_TEST(subscription_lives_again_after_each_loss)
{
    struct ear *ear = &ears[0];

    open_world(_i / 2);
    if (_i % 2)
        ck_assert_str_eq(ask("PING"), "PONG");
    start_listening(ear, "ch");
    for (int i = 0; i < 5; i++) {
        await_story(ear, "+");
        ck_assert_str_eq(server_ask(server, "PUBLISH ch hello"), "1");
        await_story(ear, "+hello");
        server_kill_connections(server);
        await_story(ear, "+hello-");
        ear->story[0] = '\0';
    }
    await_story(ear, "+");
    stop_listening(ear);
    ck_assert_str_eq(ask("ECHO a"), "a");
    while (strcmp(server_ask(server, "PUBLISH ch x"), "0") != 0)
        hf_loop_dispatch(loop, 1);
    ck_assert_str_eq(ear->story, "+");
    ck_assert_str_eq(ask("ECHO b"), "b");
    close_world();
}
END_TEST

START_TEST(each_channel_has_its_own_listeners)
{
    enum { COUNT = sizeof ears / sizeof *ears };
    static char names[COUNT][8];

    open_world(_i);
    for (int i = 0; i < COUNT; i++) {
        (void)sprintf(names[i], "ch%d", i);
        start_listening(&ears[i], names[i]);
    }
    for (int i = 0; i < COUNT; i++)
        await_story(&ears[i], "+");
    server_kill_connections(server);
    for (int i = 0; i < COUNT; i++)
        await_story(&ears[i], "+-+");
    for (int i = 0; i < COUNT; i++)
        ck_assert_str_eq(server_ask(server, "PUBLISH ch%d %d", i, i), "1");
    for (int i = 0; i < COUNT; i++) {
        char story[16];

        (void)sprintf(story, "+-+%d", i);
        await_story(&ears[i], story);
        stop_listening(&ears[i]);
    }
    ck_assert_str_eq(ask("ECHO a"), "a");
    close_world();
}
END_TEST

/* SUBSCRIBE, UNSUBSCRIBE, SUBSCRIBE on their way at once. */
START_TEST(channel_may_be_left_and_taken_again_at_once)
{
    open_world(_i);
    ck_assert_str_eq(ask("PING"), "PONG");
    start_listening(&ears[0], "ch");
    for (int i = 0; i < 20; i++) {
        lock();
        hf_pubsub_drop(&ears[0].s);
        ck_assert_int_eq(listen_to(&ears[0], "ch"), HF_OK);
        unlock();
        if (i % 3 == 0)
            hf_loop_dispatch(loop, 0);
    }
    await_story(&ears[0], "+");
    ck_assert_str_eq(ask("ECHO a"), "a");
    ck_assert_str_eq(server_ask(server, "PUBLISH ch hello"), "1");
    await_story(&ears[0], "+hello");
    stop_listening(&ears[0]);
    close_world();
}
END_TEST

static struct ear *ear_awaited;
static int protocol_awaited;

static bool ear_lives(void)
{
    bool it_does;

    lock();
    it_does = ear_awaited->s.is_live &&
              hf_link_protocol(link_) == protocol_awaited;
    unlock();
    return it_does;
}

/* It hears a message once, and whoever asks is answered. */
static void check_ear(struct ear *ear, int protocol)
{
    ear_awaited = ear;
    protocol_awaited = protocol;
    drive_until(ear_lives);
    ck_assert_str_eq(ask("ECHO a"), "a");
    ear->story[0] = '\0';
    ck_assert_str_eq(server_ask(server, "PUBLISH %s hello", ear->s.channel),
                     "1");
    await_story(ear, "hello");
}

/* Two servers take turns at one port: one with HELLO, one without. */
START_TEST(subscription_survives_a_change_of_protocol)
{
    char port[16];
    const char *const args[] = {"--port", port, "--rename-command",
                                "HELLO",  "",   NULL};
    struct server *old;

    open_world(0);
    (void)snprintf(port, sizeof port, "%d", server_port(server));
    start_listening(&ears[0], "ch");
    for (int i = 0; i < 2; i++) {
        check_ear(&ears[0], 3);
        server_kill(server);
        old = server;
        server = server_start(args);
        check_ear(&ears[0], 2);
        stop_server();
        server = old;
        drive_until(is_down);
        start_listening(&ears[1], "other"); /* in RESP2, as things stand */
        server_restart(server);
        check_ear(&ears[0], 3);
        check_ear(&ears[1], 3);
        stop_listening(&ears[1]);
    }
    stop_listening(&ears[0]);
    close_world();
}
END_TEST

/* On a server without HELLO, while the main link is about to find that out
 * again: a SUBSCRIBE must not get onto a connection that would do nothing else
 * from then on. */
START_TEST(subscription_begun_while_greeting_finds_its_own_link)
{
    struct proxy *proxy;
    uint64_t passed;

    start_server_with(no_hello);
    proxy = proxy_start(server_port(server));
    prepare(proxy_port(proxy));
    memory_init(&memory);
    open_with(&memory.hook, false);
    open_pubsub();
    if (_i)
        ck_assert_str_eq(ask("ECHO a"), "a");
    want(true);
    proxy_hold(proxy, PROXY_TO_CLIENT, true);
    passed = proxy_count(proxy, PROXY_TO_SERVER, PROXY_PASSED);
    server_kill_connections(server);
    if (_i) {
        proxy_cut(proxy, PROXY_CLOSE);
        drive_until(is_down);
    }
    while (proxy_count(proxy, PROXY_TO_SERVER, PROXY_PASSED) == passed)
        hf_loop_dispatch(loop, 1);
    start_listening(&ears[0], "ch");
    proxy_hold(proxy, PROXY_TO_CLIENT, false);
    ck_assert_str_eq(ask("ECHO b"), "b");
    await_story(&ears[0], "+");
    ck_assert_str_eq(ask("ECHO c"), "c");
    stop_listening(&ears[0]);
    close_link();
    proxy_stop(proxy);
    stop_server();
}
END_TEST

/* The same in the other direction: it spoke RESP3, and is about to speak RESP2,
 * for which there is no link yet. */
START_TEST(subscription_dropped_while_greeting_is_gone)
{
    static const struct peer_step script[] = {
        PEER_ACCEPT, PEER_GREET, PEER_EXPECT("SUBSCRIBE ch"),
        PEER_SEND(">3\r\n+subscribe\r\n+ch\r\n:1\r\n"), PEER_CLOSE,
        PEER_ACCEPT, PEER_EXPECT("HELLO 3"), PEER_SEND("-NOPROTO sorry\r\n"),
        PEER_EXPECT("CLIENT ID"), PEER_WAIT, PEER_SEND(":2\r\n"), PEER_GREET,
        PEER_EXPECT("ECHO a"), PEER_SEND("+a\r\n"), PEER_END};
    struct peer *peer = peer_start(script);
    struct ask a;

    open_link(peer_port(peer));
    open_pubsub();
    start_listening(&ears[0], "ch");
    await_story(&ears[0], "+-");
    start(&a, "ECHO a", LONG_MS);
    drive_until_received(peer, 3);
    stop_listening(&ears[0]);
    peer_go(peer);
    ck_assert_str_eq(answer(&a), "a");
    end_with_peer(peer);
}
END_TEST

#define CONFIRMED ">3\r\n+subscribe\r\n+ch\r\n:1\r\n"
#define CONFIRMED2 "*3\r\n$9\r\nsubscribe\r\n$2\r\nch\r\n:1\r\n"

/* P3. No room for it on a connection that is up, and behind what was queued
 * while there was none. */
START_TEST(subscription_waits_for_room)
{
    static const struct peer_step script[] = {
        PEER_ACCEPT, PEER_GREET, PEER_EXPECT("ECHO a"), PEER_EXPECT("ECHO b"),
        PEER_WAIT, PEER_SEND("+a\r\n+b\r\n"), PEER_EXPECT("SUBSCRIBE ch"),
        PEER_SEND(CONFIRMED), PEER_WAIT, PEER_CLOSE,
        PEER_ACCEPT, PEER_GREET, PEER_EXPECT("ECHO c"), PEER_EXPECT("ECHO d"),
        PEER_SEND("+c\r\n+d\r\n"), PEER_EXPECT("SUBSCRIBE ch"),
        PEER_SEND(CONFIRMED), PEER_END};
    struct peer *peer = peer_start(script);
    struct ask a, b, c, d;

    prepare(peer_port(peer));
    options.requests_max = 2;
    memory_init(&memory);
    open_with(&memory.hook, false);
    open_pubsub();
    start(&a, "ECHO a", LONG_MS);
    start(&b, "ECHO b", LONG_MS);
    drive_until_received(peer, 2);
    start_listening(&ears[0], "ch");
    peer_go(peer);
    await_story(&ears[0], "+");
    peer_go(peer);
    drive_until(is_down);
    start(&c, "ECHO c", LONG_MS);
    start(&d, "ECHO d", LONG_MS);
    await_story(&ears[0], "+-+");
    stop_listening(&ears[0]);
    end_with_peer(peer);
}
END_TEST

/* P3. A server that runs a script refuses SUBSCRIBE, too; and one may end what
 * it has confirmed. */
START_TEST(subscription_that_is_refused_or_ended_is_asked_for_again)
{
    static const struct peer_step script[] = {
        PEER_ACCEPT, PEER_GREET, PEER_EXPECT("SUBSCRIBE ch"),
        PEER_SEND("-BUSY a script is running\r\n"),
        PEER_EXPECT("SUBSCRIBE ch"), PEER_SEND(CONFIRMED),
        PEER_SEND(">3\r\n+sunsubscribe\r\n+ch\r\n:0\r\n"),
        PEER_SEND(">3\r\n+unsubscribe\r\n+ch\r\n:0\r\n"),
        PEER_EXPECT("SUBSCRIBE ch"), PEER_SEND(CONFIRMED), PEER_END};
    struct peer *peer = peer_start(script);

    open_link(peer_port(peer));
    open_pubsub();
    start_listening(&ears[0], "ch");
    await_story(&ears[0], "-+-+");
    stop_listening(&ears[0]);
    end_with_peer(peer);
}
END_TEST

/* P3. Whatever there was no memory for when it began. */
START_TEST(subscription_lives_though_an_allocation_failed)
{
    open_world(_i % 3);
    ck_assert_str_eq(ask("PING"), "PONG");
    memory_fail_at(&memory, (uint64_t)(1 + _i / 3));
    start_listening(&ears[0], "ch");
    await_story(&ears[0], "+");
    ck_assert_str_eq(server_ask(server, "PUBLISH ch hello"), "1");
    await_story(&ears[0], "+hello");
    memory_fail_at(&memory, 0);
    stop_listening(&ears[0]);
    close_world();
}
END_TEST

/* P4: nothing is in flight, and the peer is gone, as a proxy hides it. */
START_TEST(silent_peer_loses_its_subscriber)
{
    static const struct peer_step resp3[] = {
        PEER_ACCEPT, PEER_GREET, PEER_EXPECT("SUBSCRIBE ch"),
        PEER_SEND(CONFIRMED), PEER_EXPECT("PING"), PEER_SEND("+PONG\r\n"),
        PEER_EXPECT("PING"), PEER_GONE,
        PEER_ACCEPT, PEER_GREET, PEER_EXPECT("SUBSCRIBE ch"),
        PEER_SEND(CONFIRMED), PEER_END};
    static const struct peer_step resp2[] = {
        PEER_ACCEPT, PEER_GREET, PEER_EXPECT("ECHO a"), PEER_SEND("+a\r\n"),
        PEER_ACCEPT, PEER_GREET, PEER_EXPECT("SUBSCRIBE ch"),
        PEER_SEND(CONFIRMED2), PEER_EXPECT("PING"),
        PEER_SEND("*2\r\n$4\r\npong\r\n$0\r\n\r\n"), PEER_EXPECT("PING"),
        PEER_GONE,
        PEER_ACCEPT, PEER_GREET, PEER_EXPECT("SUBSCRIBE ch"),
        PEER_SEND(CONFIRMED2), PEER_END};
    struct peer *peer = peer_start(_i ? resp2 : resp3);

    prepare(peer_port(peer));
    options.protocol = _i ? 2 : 3;
    options.listen_ms = 20;
    options.silence_ms = 1000;
    memory_init(&memory);
    open_with(&memory.hook, false);
    open_pubsub();
    if (_i)
        ck_assert_str_eq(ask("ECHO a"), "a");
    start_listening(&ears[0], "ch");
    await_story(&ears[0], "+-+");
    stop_listening(&ears[0]);
    end_with_peer(peer);
}
END_TEST

/* How often the server has been asked PING. */
static int pings(void)
{
    const char *stats = server_ask(server, "INFO commandstats");
    const char *at = strstr(stats, "cmdstat_ping:calls=");

    return at ? atoi(at + strlen("cmdstat_ping:calls=")) : 0;
}

/* P4, as servers answer it; and no more once nobody listens. */
START_TEST(subscriber_is_asked_while_it_is_idle)
{
    int64_t end_ms = local_now_ms() + LONG_MS;
    int so_far;

    start_server_with(worlds[_i].args);
    prepare(server_port(server));
    options.protocol = worlds[_i].protocol;
    options.listen_ms = 20;
    memory_init(&memory);
    open_with(&memory.hook, false);
    open_pubsub();
    ck_assert_str_eq(ask("ECHO a"), "a");
    start_listening(&ears[0], "ch");
    while (pings() < 3) {
        must(local_now_ms() < end_ms, "an idle subscriber is asked");
        hf_loop_dispatch(loop, 5);
    }
    ck_assert_str_eq(server_ask(server, "PUBLISH ch hello"), "1");
    await_story(&ears[0], "+hello");
    stop_listening(&ears[0]);
    while (strcmp(server_ask(server, "PUBLISH ch x"), "0") != 0)
        hf_loop_dispatch(loop, 1);
    ck_assert_str_eq(ask("ECHO b"), "b");
    so_far = pings();
    for (int i = 0; i < 10; i++)
        hf_loop_dispatch(loop, 10);
    ck_assert_int_eq(pings(), so_far);
    close_world();
}
END_TEST

START_TEST(subscription_that_is_refused_is_told_so)
{
    open_world(_i);
    ck_assert_str_eq(ask("PING"), "PONG");
    (void)server_ask(server, "ACL SETUSER default resetchannels");
    start_listening(&ears[0], "ch");
    await_story(&ears[0], "-");
    ck_assert_str_eq(ask("ECHO a"), "a");
    stop_listening(&ears[0]);
    close_world();
}
END_TEST

static struct ear *dropped_with;      /* by the first that hears of a loss */

/* As a lock's whose last waiter leaves: both of its subscriptions go. */
static void drop_both(struct hf_subscription *s, bool is_live)
{
    struct ear *ear = HF_OWNER_OF(s, struct ear, s);

    on_ear_change(s, is_live);
    if (is_live)
        return;
    must(dropped_with != NULL, "what was dropped is told nothing");
    hf_pubsub_drop(&dropped_with->s);
    hf_pubsub_drop(&ear->s);
    dropped_with = NULL;
}

/* A channel and its sharded namesake: whichever hears first that the connection
 * is lost. */
START_TEST(subscription_may_be_dropped_by_another_that_is_told_of_a_loss)
{
    open_world(_i / 2);
    ck_assert_str_eq(ask("PING"), "PONG");
    for (int i = 0; i < 2; i++) {
        lock();
        ck_assert_int_eq(listen_as(&ears[i], "ch", i == _i % 2), HF_OK);
        ears[i].s.on_change = drop_both;
        unlock();
        await_story(&ears[i], "+");
    }
    dropped_with = &ears[1];
    server_kill_connections(server);
    await_story(&ears[0], "+-");
    ck_assert_str_eq(ask("ECHO a"), "a");
    ck_assert_str_eq(ears[1].story, "+");
    close_world();
}
END_TEST

/* ---- memory ---- */

/* Asks until there is an answer; an allocation may fail, once. */
static void ask_patiently(const char *words, const char *expected)
{
    for (int i = 0; i < 5; i++) {
        static struct ask a;
        hf_status rc;

        lock();
        rc = submit(&a, words, LONG_MS);
        unlock();
        must(rc == HF_OK || rc == HF_E_NOMEM, "without memory, an error");
        if (rc == HF_OK && answer(&a)[0] != '(') {
            ck_assert_str_eq(a.text, expected);
            return;
        }
        if (rc == HF_OK && expected[0] == '(' && strcmp(a.text, expected) == 0)
            return;
    }
    ck_abort_msg("no answer to %s", words);
}

/* Connects, asks, subscribes, loses the connection, does it all again. */
static void live_a_life(void)
{
    hf_status rc;

    lock();
    rc = hf_pubsub_new(&pubsub, loop, link_, &options);
    if (rc < 0)
        rc = hf_pubsub_new(&pubsub, loop, link_, &options);
    ck_assert_int_eq(rc, HF_OK);
    rc = listen_to(&ears[0], "ch");
    unlock();
    ck_assert(rc == HF_OK || rc == HF_E_NOMEM);
    ask_patiently("ECHO one", "one");
    ask_patiently("LRANGE list 0 -1", "(3000 elements)");
    server_kill_connections(server);
    ask_patiently("ECHO two", "two");
    ask_patiently("LRANGE list 0 -1", "(3000 elements)");
    lock();
    if (rc == HF_OK)
        hf_pubsub_drop(&ears[0].s);
    unlock();
    ask_patiently("ECHO three", "three");
}

/* True: the allocation failed. */
static bool live_with_failure_at(uint64_t n)
{
    struct hf_loop_options of_loop = {.mem = &memory.hook};
    bool has_failed;
    hf_status rc;

    memory_init(&memory);
    memory_fail_at(&memory, n);
    rc = hf_loop_new(&loop, &of_loop);
    if (rc == HF_OK) {
        lock();
        link_ = NULL;
        rc = hf_link_new(&link_, loop, &options);
        unlock();
        ck_assert_int_eq(rc == HF_OK, link_ != NULL);
        if (rc == HF_OK)
            live_a_life();
        has_failed = memory_has_failed(&memory);
        free_link();
    } else {
        has_failed = true;
    }
    ck_assert(rc == HF_OK || rc == HF_E_NOMEM);
    ck_assert_pstr_eq(memory_fini(&memory), NULL);
    return has_failed;
}

START_TEST(any_allocation_may_fail)
{
    int descriptors;
    uint64_t n = 1;

    start_server_with(worlds[_i].args);
    for (int i = 0; i < 300; i++)
        (void)server_ask(server, "RPUSH list a b c d e f g h i j");
    prepare(server_port(server));
    options.protocol = worlds[_i].protocol;
    descriptors = count_descriptors();
    while (live_with_failure_at(n)) {
        n++;
        ck_assert_int_eq(count_descriptors(), descriptors);
    }
    ck_assert_uint_gt(n, 12);
    stop_server();
}
END_TEST

/* ---- V1 to V7: every answer equals its question ---- */

#define ASKERS 64
#define CHAOS_MS 3000
#define CHAOS_SEED 20261121u

struct asker {
    pthread_t thread;
    unsigned me;
    uint64_t seed;
    unsigned answered, unsent, unknown, cancelled;
};

static bool is_calm;                  /* under the lock */
static pthread_barrier_t calm;

static void count_answer(struct asker *me, const char *text,
                         const char *expected)
{
    if (strcmp(text, "(unsent)") == 0)
        me->unsent++;
    else if (strcmp(text, "(unknown)") == 0)
        me->unknown++;
    else if (strcmp(text, expected) == 0)
        me->answered++;
    else
        ck_abort_msg("asked for %s, got %s", expected, text);
}

/* Cancels it after a while, if it is not over by then. */
static void cancel_soon(struct asker *me, struct ask *a, const char *expected)
{
    local_rest_us((int)dice_of(&me->seed, 500));
    lock();
    if (a->text[0] != '\0') {
        count_answer(me, a->text, expected);
    } else {
        (void)hf_link_cancel(&a->request);
        me->cancelled++;
    }
    unlock();
}

static void ask_once(struct asker *me, unsigned n, int timeout_ms,
                     bool is_cancelled)
{
    struct ask a;
    char words[32];

    (void)snprintf(words, sizeof words, "ECHO %u:%u", me->me, n);
    start(&a, words, timeout_ms);
    if (is_cancelled)
        cancel_soon(me, &a, words + 5);
    else
        count_answer(me, answer(&a), words + 5);
}

static bool chaos_is_over(void)
{
    bool it_is;

    lock();
    it_is = is_calm;
    unlock();
    return it_is;
}

/* Once the network is as it should be, everything is answered. */
static void *ask_and_ask(void *arg)
{
    static const int timeouts[] = {1, 5, 30, 2000};
    struct asker *me = arg;
    unsigned n = 0, answered;

    while (!chaos_is_over())
        ask_once(me, n++, timeouts[dice_of(&me->seed, 4)],
                 dice_of(&me->seed, 8) == 0);
    (void)pthread_barrier_wait(&calm);
    (void)pthread_barrier_wait(&calm);
    answered = me->answered;
    ask_once(me, n, LONG_MS, false);
    must(me->answered == answered + 1, "in calm, all is answered");
    return NULL;
}

static void calm_down(struct proxy *proxy)
{
    for (int way = PROXY_TO_SERVER; way <= PROXY_TO_CLIENT; way++) {
        proxy_delay(proxy, (enum proxy_way)way, 0);
        proxy_slice(proxy, (enum proxy_way)way, 0);
        proxy_hold(proxy, (enum proxy_way)way, false);
    }
    proxy_cut_after(proxy, PROXY_TO_SERVER, UINT64_MAX, PROXY_CLOSE);
}

static void make_trouble(struct proxy *proxy, uint64_t *seed)
{
    enum proxy_way way = dice_of(seed, 2) ? PROXY_TO_CLIENT : PROXY_TO_SERVER;
    enum proxy_end end = dice_of(seed, 2) ? PROXY_RESET : PROXY_CLOSE;

    switch (dice_of(seed, 7)) {
    case 0:
        proxy_delay(proxy, way, (int)dice_of(seed, 8));
        break;
    case 1:
        proxy_slice(proxy, way, 1 + dice_of(seed, 64));
        break;
    case 2:
        proxy_hold(proxy, way, true);
        break;
    case 3:
        proxy_cut(proxy, end);
        break;
    case 4:
        proxy_cut_after(proxy, way, dice_of(seed, 3000), end);
        break;
    case 5:
        proxy_swallow(proxy, way, true);
        local_rest_us(3000);
        proxy_cut(proxy, end);
        proxy_swallow(proxy, way, false);
        break;
    default:
        calm_down(proxy);
        break;
    }
}

/* 64 callers on one connection, with random deadlines and cancellations, and a
 * network that delays, slices, holds, swallows and cuts. */
START_TEST(every_answer_equals_its_question)
{
    static struct asker askers[ASKERS];
    struct proxy *proxy = proxy_start(server_port(server));
    uint64_t seed = CHAOS_SEED + (unsigned)_i;
    int64_t end_ms = local_now_ms() + CHAOS_MS;
    struct asker sum = {.me = 0};

    (void)printf("chaos with seed %llu\n", (unsigned long long)seed);
    prepare(proxy_port(proxy));
    options.silence_ms = 300; /* swallowed */
    memory_init(&memory);
    open_with(&memory.hook, _i % 2);
    (void)pthread_barrier_init(&calm, NULL, ASKERS + 1);
    for (unsigned i = 0; i < ASKERS; i++) {
        askers[i] = (struct asker){.me = i, .seed = seed * 31 + i};
        (void)pthread_create(&askers[i].thread, NULL, ask_and_ask, &askers[i]);
    }
    while (local_now_ms() < end_ms) {
        make_trouble(proxy, &seed);
        local_rest_us(1000 * (int)(1 + dice_of(&seed, 15)));
    }
    calm_down(proxy);
    lock();
    is_calm = true;
    unlock();
    (void)pthread_barrier_wait(&calm);
    settle();
    (void)pthread_barrier_wait(&calm);
    for (unsigned i = 0; i < ASKERS; i++) {
        (void)pthread_join(askers[i].thread, NULL);
        sum.answered += askers[i].answered;
        sum.unknown += askers[i].unknown;
        sum.unsent += askers[i].unsent;
        sum.cancelled += askers[i].cancelled;
    }
    (void)printf("answered %u, unknown %u, unsent %u, cancelled %u, "
                 "connections %llu\n",
                 sum.answered, sum.unknown, sum.unsent, sum.cancelled,
                 (unsigned long long)stats_now().connects);
    ck_assert_uint_gt(sum.answered, 500);
    ck_assert_uint_gt(sum.unknown, 50);
    ck_assert_uint_gt(sum.cancelled, 50);
    ck_assert_uint_gt(stats_now().connects, 5);
    close_link();
    proxy_stop(proxy);
}
END_TEST

static void *ask_hard(void *arg)
{
    unsigned me = (unsigned)(uintptr_t)arg;

    for (unsigned n = 0; n < 100; n++) {
        struct ask a;
        char words[32];

        (void)snprintf(words, sizeof words, "ECHO %u:%u", me, n);
        start(&a, words, LONG_MS);
        if (strcmp(answer(&a), words + 5) != 0)
            ck_abort_msg("asked for %s, got %s", words + 5, a.text);
    }
    return NULL;
}

/* However the threads are scheduled, some meet. */
START_TEST(callers_share_writes)
{
    pthread_t threads[ASKERS];
    struct hf_link_stats before, after;

    prepare(server_port(server));
    memory_init(&memory);
    open_with(&memory.hook, _i);
    ck_assert_str_eq(ask("PING"), "PONG");
    before = stats_now();
    (void)ask_hard((void *)1000);
    after = stats_now();
    ck_assert_uint_eq(after.writes - before.writes, 100);
    before = after;
    for (uintptr_t i = 0; i < ASKERS; i++)
        (void)pthread_create(&threads[i], NULL, ask_hard, (void *)i);
    for (int i = 0; i < ASKERS; i++)
        (void)pthread_join(threads[i], NULL);
    after = stats_now();
    ck_assert_uint_eq(after.requests - before.requests, ASKERS * 100);
    ck_assert_uint_lt(after.writes - before.writes, ASKERS * 90);
    close_link();
}
END_TEST

#define ROWS(table) (int)(sizeof(table) / sizeof *(table))

static TCase *case_connecting(void)
{
    TCase *c = tcase_create("connecting");

    tcase_set_timeout(c, 60);
    tcase_add_test(c, link_connects_when_first_asked);
    tcase_add_test(c, link_that_is_wanted_connects_by_itself);
    tcase_add_test(c, server_without_hello_is_asked_in_resp2);
    tcase_add_test(c, protocol_is_that_of_the_last_connection);
    tcase_add_loop_test(c, stranger_is_refused_at_once, 0, ROWS(strangers));
    tcase_add_test(c, nobody_listens);
    tcase_add_test(c, port_that_accepts_and_is_silent_has_a_deadline);
    tcase_add_test(c, connecting_has_a_deadline);
    tcase_add_test(c, link_may_be_freed_while_it_dials);
    tcase_add_test(c, process_without_free_descriptors_says_so_and_recovers);
    tcase_add_test(c, name_is_resolved);
    tcase_add_test(c, address_that_is_connected_and_silent_is_passed_over);
    tcase_add_loop_test(c, attempts_are_spaced, 0, ROWS(backoffs));
    return c;
}

static TCase *case_requests(void)
{
    TCase *c = tcase_create("requests");

    tcase_set_timeout(c, 60);
    tcase_add_test(c, silent_peer_loses_the_connection);
    tcase_add_test(c, late_reply_of_a_talking_peer_goes_to_nobody);
    tcase_add_test(c, silent_peer_is_left_by_those_who_only_wait_their_turn);
    tcase_add_test(c, connections_are_counted);
    tcase_add_test(c, queued_requests_go_when_no_more_is_in_flight);
    tcase_add_test(c, idle_link_is_not_taken_for_silent);
    tcase_add_test(c, slow_peer_that_talks_is_not_left);
    tcase_add_test(c, cancelled_request_is_over);
    tcase_add_test(c, free_ends_all_requests);
    tcase_add_test(c, condemned_link_connects_anew);
    tcase_add_test(c, link_may_be_condemned_between_replies);
    tcase_add_test(c, full_link_takes_no_more);
    tcase_add_test(c, subscription_dropped_while_greeting_is_gone);
    return c;
}

static TCase *case_server(void)
{
    TCase *c = tcase_create("a real server");

    tcase_set_timeout(c, 60);
    tcase_add_checked_fixture(c, start_server, stop_server);
    tcase_add_test(c, real_server_answers);
    tcase_add_test(c, link_goes_over_a_unix_socket);
    tcase_add_loop_test(c, outcome_is_true_wherever_the_connection_was_cut, 0,
                        ROWS(cuts));
    tcase_add_loop_test(c, request_survives_a_cut_in_the_greeting, 0,
                        ROWS(cuts));
    tcase_add_test(c, link_comes_back_after_its_server);
    tcase_add_test(c, killed_client_comes_back);
    tcase_add_test(c, steady_path_allocates_nothing);
    tcase_add_test(c, child_process_harms_no_link);
    tcase_add_loop_test(c, too_many_clients_is_an_answer_for_now, 0,
                        ROWS(crowded));
    tcase_add_test(c, stopped_server_costs_bounded_memory_and_no_answer);
    tcase_add_test(c, write_that_nobody_takes_has_a_deadline);
    tcase_add_test(c, request_left_in_a_stopped_server_is_not_done_later);
    tcase_add_test(c, request_that_arrives_after_its_successor_is_not_done);
    tcase_add_loop_test(c, callers_share_writes, 0, 2);
    tcase_add_loop_test(c, every_answer_equals_its_question, 0, 2);
    return c;
}

static TCase *case_password(void)
{
    TCase *c = tcase_create("a server with a password");

    tcase_add_checked_fixture(c, start_server_with_password, stop_server);
    tcase_add_loop_test(c, server_says_who_may_come_in, 0, ROWS(visitors));
    tcase_add_test(c, password_is_wiped);
    return c;
}

static TCase *case_subscriptions(void)
{
    TCase *c = tcase_create("subscriptions");

    tcase_set_timeout(c, 60);
    tcase_add_loop_test(c, subscription_lives_again_after_each_loss, 0,
                        2 * ROWS(worlds));
    tcase_add_loop_test(c, each_channel_has_its_own_listeners, 0, ROWS(worlds));
    tcase_add_loop_test(c, channel_may_be_left_and_taken_again_at_once, 0,
                        ROWS(worlds));
    tcase_add_test(c, subscription_survives_a_change_of_protocol);
    tcase_add_loop_test(c, subscription_begun_while_greeting_finds_its_own_link,
                        0, 2);
    tcase_add_loop_test(c, subscription_that_is_refused_is_told_so, 0,
                        ROWS(worlds));
    tcase_add_loop_test(
        c, subscription_may_be_dropped_by_another_that_is_told_of_a_loss, 0, 4);
    tcase_add_test(c, subscription_waits_for_room);
    tcase_add_test(c, subscription_that_is_refused_or_ended_is_asked_for_again);
    tcase_add_loop_test(c, subscription_lives_though_an_allocation_failed, 0,
                        12);
    tcase_add_loop_test(c, silent_peer_loses_its_subscriber, 0, 2);
    tcase_add_loop_test(c, subscriber_is_asked_while_it_is_idle, 0,
                        ROWS(worlds));
    tcase_add_loop_test(c, any_allocation_may_fail, 0, ROWS(worlds));
    return c;
}

int main(void)
{
    Suite *s = suite_create("net/link, net/pubsub");

    names_are(hosts, sizeof hosts / sizeof *hosts);
    suite_add_tcase(s, case_connecting());
    suite_add_tcase(s, case_requests());
    if (server_is_installed()) {
        suite_add_tcase(s, case_server());
        suite_add_tcase(s, case_password());
        suite_add_tcase(s, case_subscriptions());
    } else {
        (void)puts("skipped: all tests with a real server (none installed)");
    }
    return suite_run(s);
}
