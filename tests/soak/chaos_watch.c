/* MONITOR, to a file. */
#include "tests/soak/chaos_watch.h"

#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <hiredis/hiredis.h>
#include <inttypes.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "tests/soak/chaos.h"
#include "tests/support/local.h"

#define READ_MAX 65536
#define ASK_EACH_US 300000
#define ASK_AGAIN_US 20000
#define CONNECT_AGAIN_US 2000
#define PATIENCE_MS 30000
#define OFFSET_MAX_US 50        /* between two readings of clocks */

/* Its numbers are those of the locks' hold keys, as a read lock has them. */
const char chaos_watch_script[] =
    "local out = {ARGV[1], redis.call('info', 'replication'):match('role:(%a+)')}\n"
    "local version = redis.call('info', 'server'):match('redis_version:(%d+%.%d+)')\n"
    "out[3] = tonumber(version) < 7.2 and 'runs' or 'still'\n"
    "for i = 2, #ARGV do\n"
    "local ttl, hash = redis.pcall('pttl', ARGV[i]), redis.pcall('hgetall', ARGV[i])\n"
    "if (hash.err or ''):find('WRONGTYPE', 1, true) then\n"
    "ttl, hash = -2, {}\n"
    "end\n"
    "local is_ours = type(ttl) == 'number' and not hash.err\n"
    "local token = redis.pcall('get', 'redisson_lock_token:{' .. ARGV[i] .. '}')\n"
    "out[#out + 1] = ARGV[i]\n"
    "out[#out + 1] = type(token) == 'string' and token or '0'\n"
    "local is_other = not is_ours and (ttl.err or ''):find('non local', 1, true)\n"
    "out[#out + 1] = is_ours and ttl or is_other and 'x' or 'd'\n"
    "out[#out + 1] = is_ours and #hash / 2 or 0\n"
    "for j = 1, is_ours and #hash or 0, 2 do\n"
    "local longest = -2\n"
    "for k = 1, tonumber(hash[j + 1]) or 0 do\n"
    "local key = '{' .. ARGV[i] .. '}:' .. hash[j] .. ':rwlock_timeout:' .. k\n"
    "local left = redis.pcall('pttl', key)\n"
    "longest = math.max(longest, type(left) == 'number' and left or -2)\n"
    "end\n"
    "out[#out + 1] = hash[j]\n"
    "out[#out + 1] = hash[j + 1]\n"
    "out[#out + 1] = longest\n"
    "end\n"
    "end\n"
    "return table.concat(out, ' ')\n";

struct watch {
    /* Set once. */
    struct server *server;
    int out;
    int wake;
    pthread_t thread;
    /* The thread's. */
    int monitor, asking;        /* -1: not connected */
    redisReader *reader;
    char bytes[READ_MAX];       /* of MONITOR, the begin of a line */
    char answer[READ_MAX];
    int64_t offset_us;
    int64_t ask_us;             /* when to ask next; INT64_MAX: it has asked */
    unsigned long number;
    /* Any thread's. */
    atomic_ulong asked, answered;   /* how often */
    atomic_bool is_over;
};

/* ---- the file ---- */

static void put(struct watch *w, const char *ptr, size_t len)
{
    ck_assert_int_eq(write(w->out, ptr, len), (ssize_t)len);
}

static void put_note(struct watch *w, const char *what, int64_t number)
{
    char line[64];
    int len = snprintf(line, sizeof line, "@%s %" PRId64 "\r\n", what, number);

    put(w, line, (size_t)len);
}

/* False: the thread did not run for a while between two clocks, which would look as if
 * one of them had been set. */
static bool offset_us(int64_t *offset)
{
    int64_t before = chaos_now_us(), after;
    struct timespec t;

    (void)clock_gettime(CLOCK_REALTIME, &t);
    after = chaos_now_us();
    *offset = (int64_t)t.tv_sec * 1000000 + t.tv_nsec / 1000 - before;
    return after - before < OFFSET_MAX_US;
}

/* A clock that is being set right moves by parts of a thousand. */
static void note_offset(struct watch *w)
{
    int64_t us;

    if (!offset_us(&us) && w->offset_us)
        return; /* the next line is as good */
    if (us - w->offset_us < 100 && w->offset_us - us < 100)
        return;
    put_note(w, "offset", us);
    w->offset_us = us;
}

/* ---- connections ---- */

static int connect_to(const char *path)
{
    struct sockaddr_un a = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

    (void)snprintf(a.sun_path, sizeof a.sun_path, "%s", path);
    if (connect(fd, (struct sockaddr *)&a, sizeof a) == 0)
        return fd;
    (void)close(fd);
    return -1;
}

static void hang_up(struct watch *w)
{
    if (w->monitor >= 0)
        (void)close(w->monitor);
    if (w->asking >= 0)
        (void)close(w->asking);
    w->monitor = w->asking = -1;
}

static bool connect_both(struct watch *w)
{
    static const char words[] = "MONITOR\r\n";
    static const char readonly[] = "READONLY\r\n"; /* of a cluster's replica */

    w->monitor = connect_to(server_unix_path(w->server));
    w->asking = connect_to(server_unix_path(w->server));
    if (w->monitor < 0 || w->asking < 0 ||
        write(w->monitor, words, sizeof words - 1) < 0 ||
        write(w->asking, readonly, sizeof readonly - 1) < 0) {
        hang_up(w);
        return false;
    }
    if (w->reader)
        redisReaderFree(w->reader);
    w->reader = redisReaderCreate();
    w->ask_us = INT64_MAX; /* READONLY has been asked */
    return true;
}

/* ---- how the locks stand ---- */

static void ask(struct watch *w)
{
    const char *argv[4 + CHAOS_HANDLES] = {"EVAL", chaos_watch_script, "0"};
    char number[24], *command;
    int argc = 4;
    long long len;

    (void)snprintf(number, sizeof number, "%lu", ++w->number);
    argv[3] = number;
    for (size_t i = 0; i < CHAOS_HANDLES; i++)
        if (i == 0 || strcmp(chaos_handles[i].name, chaos_handles[i - 1].name))
            argv[argc++] = chaos_handles[i].name;
    len = redisFormatCommandArgv(&command, argc, argv, NULL);
    ck_assert_int_gt(len, 0);
    (void)!write(w->asking, command, (size_t)len);
    redisFreeCommand(command);
    w->asked++;
    w->ask_us = INT64_MAX;
}

/* False: the connection is of no use any more. */
static bool hear_answer(struct watch *w)
{
    ssize_t n = read(w->asking, w->answer, READ_MAX);
    redisReply *reply = NULL;

    if (n <= 0)
        return false;
    (void)redisReaderFeed(w->reader, w->answer, (size_t)n);
    if (redisReaderGetReply(w->reader, (void **)&reply) != REDIS_OK)
        return false;
    if (!reply)
        return true;
    if (reply->type == REDIS_REPLY_STRING) {
        put(w, "@stands ", 8);
        put(w, reply->str, reply->len);
        put(w, "\r\n", 2);
        w->answered++;
    }
    w->ask_us = reply->type == REDIS_REPLY_STRING
                    ? chaos_now_us() + ASK_EACH_US
                    : chaos_now_us() + ASK_AGAIN_US; /* loading, busy */
    freeReplyObject(reply);
    return true;
}

/* Whole lines, so that an answer does not come between two halves. */
static bool hear_monitor(struct watch *w, size_t *kept)
{
    ssize_t n = read(w->monitor, w->bytes + *kept, READ_MAX - *kept);
    size_t whole;

    if (n <= 0)
        return false;
    *kept += (size_t)n;
    for (whole = *kept; whole > 0 && w->bytes[whole - 1] != '\n'; whole--)
        ;
    note_offset(w);
    put(w, w->bytes, whole);
    memmove(w->bytes, w->bytes + whole, *kept - whole);
    *kept -= whole;
    return true;
}

/* ---- the thread ---- */

static int timeout_ms(const struct watch *w)
{
    int64_t left = w->ask_us == INT64_MAX ? ASK_EACH_US
                                          : w->ask_us - chaos_now_us();

    return left > 0 ? (int)(left / 1000 + 1) : 0;
}

static void watch_connection(struct watch *w)
{
    size_t kept = 0;
    bool is_alive = true;

    while (is_alive && !w->is_over) {
        struct pollfd fds[3] = {{.fd = w->monitor, .events = POLLIN},
                                {.fd = w->asking, .events = POLLIN},
                                {.fd = w->wake, .events = POLLIN}};
        eventfd_t ignored;

        (void)poll(fds, 3, timeout_ms(w));
        if (fds[2].revents)
            (void)eventfd_read(w->wake, &ignored);
        if (fds[2].revents && w->ask_us != INT64_MAX)
            w->ask_us = 0;
        if (fds[1].revents)
            is_alive = hear_answer(w);
        if (fds[0].revents)
            is_alive = hear_monitor(w, &kept) && is_alive;
        if (is_alive && chaos_now_us() >= w->ask_us)
            ask(w);
    }
}

static void *run(void *arg)
{
    struct watch *w = arg;

    while (!w->is_over) {
        if (!connect_both(w)) {
            local_rest_us(CONNECT_AGAIN_US);
            continue;
        }
        watch_connection(w);
        put_note(w, "gone", chaos_now_us());
        hang_up(w);
    }
    return NULL;
}

/* ---- the driver's ---- */

struct watch *chaos_watch_start(struct server *server, const char *path)
{
    struct watch *w = local_new(sizeof *w);

    w->server = server;
    w->monitor = w->asking = -1;
    w->out = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC, 0600);
    w->wake = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    ck_assert_int_ge(w->out, 0);
    note_offset(w);
    ck_assert_int_eq(pthread_create(&w->thread, NULL, run, w), 0);
    return w;
}

void chaos_watch_await(struct watch *w)
{
    unsigned long answered = w->answered, asked = w->asked;
    int64_t end_ms = local_now_ms() + PATIENCE_MS;

    /* One that is under way may be older than the call: then the next one. */
    while (w->answered < answered + 2 || w->asked <= asked) {
        ck_assert_msg(local_now_ms() < end_ms, "a server cannot be watched");
        (void)eventfd_write(w->wake, 1);
        local_rest_us(1000);
    }
}

void chaos_watch_stop(struct watch *w)
{
    if (!w)
        return;
    w->is_over = true;
    (void)eventfd_write(w->wake, 1);
    (void)pthread_join(w->thread, NULL);
    redisReaderFree(w->reader);
    (void)close(w->wake);
    (void)close(w->out);
    free(w);
}
