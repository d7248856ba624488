/* Commands through one connection, ours beside hiredis: client CPU a command and
 * commands a second at depths 1, 16 and 128, and by 1 to 64 threads that
 * block; over TCP, a Unix socket and TLS; on one processor and on two. Rounds
 * are interleaved, medians taken; the ratios are the result.
 *
 *     bench_net [ms a measurement [rounds]]       (started by bench/run.sh)
 *
 * Each contestant has its connections open all the time and sends the same
 * bytes' worth of arguments: SET of 16 bytes, or the script of an acquire. */
#include <hiredis/async.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>

#include <ev.h>
#include <hiredis/adapters/libev.h>
#if __has_include(<hiredis/hiredis_ssl.h>)
#include <hiredis/hiredis_ssl.h>
#define HAS_PEER_TLS true
#else
#define HAS_PEER_TLS false
#endif

#include "bench/rounds.h"
#include "net/base/mem.h"
#include "net/link/link.h"
#include "net/wire/tls_context.h"

#define DEPTH_MAX 128
#define THREADS_MAX 64
#define ARGS_MAX 7
#define TIMEOUT_MS 5000

/* ---- what is allocated, by everything in this program ---- */

static atomic_long mallocs;

void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *ptr, size_t size);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_realloc(void *ptr, size_t size);

static void count_malloc(void)
{
    atomic_fetch_add_explicit(&mallocs, 1, memory_order_relaxed);
}

void *__wrap_malloc(size_t size)
{
    count_malloc();
    return __real_malloc(size);
}

void *__wrap_calloc(size_t count, size_t size)
{
    count_malloc();
    return __real_calloc(count, size);
}

void *__wrap_realloc(void *ptr, size_t size)
{
    count_malloc();
    return __real_realloc(ptr, size);
}

/* ---- what is sent, and where to ---- */

struct command {
    const char *name;
    int argc;
    const char *argv[ARGS_MAX];
    size_t lens[ARGS_MAX];
    struct hf_resp_arg args[ARGS_MAX];
    const char *format;           /* for hiredis' printf */
};

static struct command commands[] = {
    {.name = "SET",
     .argc = 3,
     .argv = {"SET", "bench:key:000001", "0123456789abcdef"},
     .format = "SET %s %s"},
    {.name = "lock",
     .argc = 7,
     .argv = {"EVALSHA", NULL, "1", "bench:lock:00001",
              "6e3814a1-e847-452b-a982-45baf93a1df2:42", "1", "30000"},
     .format = "EVALSHA %s %s %s %s %s %s"},
};

static void commands_init(void)
{
    commands[1].argv[1] = hf_script_acquire.sha;
    for (size_t c = 0; c < 2; c++)
        for (int i = 0; i < commands[c].argc; i++) {
            const char *text = commands[c].argv[i];

            commands[c].lens[i] = strlen(text);
            commands[c].args[i] = (struct hf_resp_arg){text, strlen(text)};
        }
}

enum transport { TCP, UNIX, TLS, TRANSPORTS };
static const char *const transport_names[TRANSPORTS] = {"TCP", "Unix", "TLS"};

static const struct command *command;
static enum transport transport;

static int port_of(enum transport t)
{
    return t == TLS ? atoi(given("BENCH_TLS_PORT")) : server_port();
}

/* ---- ours: one link ---- */

struct ours {
    struct hf_loop *loop;
    struct hf_link *link;
    struct hf_tls_context *tls;
};

static struct ours blocking, dispatched;

struct batch {
    struct hf_waiter waiter;
    int left;
};

struct ours_request {
    struct hf_request request;
    struct batch *batch;
};

static void on_done(struct hf_request *request, enum hf_outcome outcome,
                    struct hf_resp_value reply)
{
    struct ours_request *r = (struct ours_request *)request;

    if (outcome != HF_ANSWERED || hf_resp_is_error(reply))
        die("ours", "no good answer");
    if (--r->batch->left == 0)
        hf_waiter_wake(&r->batch->waiter);
}

static void ours_submit(struct ours *o, struct ours_request *requests,
                        struct batch *batch, int depth)
{
    int64_t deadline = hf_loop_now(o->loop) + TIMEOUT_MS;

    batch->left = depth;
    for (int i = 0; i < depth; i++) {
        requests[i].batch = batch;
        requests[i].request.done = on_done;
        requests[i].request.is_acknowledged_by_push = false;
        if (hf_link_submit(o->link, &requests[i].request, command->args,
                           (size_t)command->argc, deadline) < 0)
            die("hf_link_submit", "failed");
    }
}

static void ours_batch(int depth)
{
    static struct ours_request requests[DEPTH_MAX];
    struct batch batch;

    hf_waiter_init(&batch.waiter, blocking.loop);
    hf_loop_lock(blocking.loop);
    ours_submit(&blocking, requests, &batch, depth);
    hf_loop_wait(&batch.waiter);
}

static void ours_dispatched_batch(int depth)
{
    static struct ours_request requests[DEPTH_MAX];
    struct batch batch;

    hf_waiter_init(&batch.waiter, dispatched.loop);
    hf_loop_lock(dispatched.loop);
    ours_submit(&dispatched, requests, &batch, depth);
    hf_loop_unlock(dispatched.loop);
    while (batch.left > 0)
        hf_loop_dispatch(dispatched.loop, -1);
}

static void ours_options(struct hf_link_options *options)
{
    char text[200];
    struct hf_error err;

    if (transport == UNIX)
        snprintf(text, sizeof text, "unix://%s", given("BENCH_SOCKET"));
    else
        snprintf(text, sizeof text, "%s://127.0.0.1:%d",
                 transport == TLS ? "rediss" : "redis", port_of(transport));
    hf_link_options_init(options);
    if (hf_url_parse(&options->url, text, &err) < 0)
        die("url", err.text);
    if (transport == TLS)
        snprintf(options->url.tls.ca_file, sizeof options->url.tls.ca_file,
                 "%s", given("BENCH_CA"));
}

static void ours_open(struct ours *o, bool has_thread)
{
    struct hf_loop_options loop = {.size = sizeof loop, .thread = has_thread};
    struct hf_link_options options;
    struct hf_error err;

    ours_options(&options);
    if (hf_loop_new(&o->loop, &loop) < 0)
        die("hf_loop_new", "failed");
    if (transport == TLS &&
        hf_tls_context_new(&o->tls, &hf_mem_libc, &options.url.tls,
                           options.url.host, &err) < 0)
        die("tls", err.text);
    options.tls = transport == TLS ? o->tls : NULL;
    hf_loop_lock(o->loop);
    if (hf_link_new(&o->link, o->loop, &options) < 0)
        die("hf_link_new", "failed");
    hf_loop_unlock(o->loop);
}

static void ours_close(struct ours *o)
{
    hf_loop_lock(o->loop);
    hf_loop_quiesce(o->loop);
    hf_link_free(o->link);
    hf_loop_resume(o->loop);
    hf_loop_unlock(o->loop);
    hf_loop_free(o->loop);
    hf_tls_context_free(o->tls);
    *o = (struct ours){0};
}

static void ours_blocking_open(void)
{
    ours_open(&blocking, true);
}

static void ours_blocking_close(void)
{
    ours_close(&blocking);
}

static void ours_dispatched_open(void)
{
    ours_open(&dispatched, false);
}

static void ours_dispatched_close(void)
{
    ours_close(&dispatched);
}

/* ---- hiredis ---- */

#if HAS_PEER_TLS
static redisSSLContext *peer_tls;

static void secure(redisContext *c)
{
    if (!peer_tls)
        peer_tls = redisCreateSSLContext(given("BENCH_CA"), NULL, NULL, NULL,
                                         NULL, NULL);
    if (!peer_tls || redisInitiateSSLWithContext(c, peer_tls) != REDIS_OK)
        die("hiredis over TLS", c->errstr);
}
#else
static void secure(redisContext *c)
{
    (void)c;
}
#endif

static redisContext *peer_connect(void)
{
    redisContext *c = transport == UNIX
                          ? redisConnectUnix(given("BENCH_SOCKET"))
                          : redisConnect("127.0.0.1", port_of(transport));

    if (!c || c->err)
        die("hiredis", c ? c->errstr : "no memory");
    if (transport == TLS)
        secure(c);
    return c;
}

static redisContext *peer;

static void peer_open(void)
{
    peer = peer_connect();
}

static void peer_close(void)
{
    redisFree(peer);
}

static void peer_take(redisContext *c)
{
    redisReply *reply;

    if (redisGetReply(c, (void **)&reply) != REDIS_OK ||
        reply->type == REDIS_REPLY_ERROR)
        die("hiredis", c->err ? c->errstr : reply->str);
    freeReplyObject(reply);
}

static void peer_argv_batch(int depth)
{
    for (int i = 0; i < depth; i++)
        redisAppendCommandArgv(peer, command->argc, (const char **)command->argv,
                               command->lens);
    for (int i = 0; i < depth; i++)
        peer_take(peer);
}

static void peer_printf_batch(int depth)
{
    const char *const *v = command->argv;

    for (int i = 0; i < depth; i++)
        if (command->argc == 3)
            redisAppendCommand(peer, command->format, v[1], v[2]);
        else
            redisAppendCommand(peer, command->format, v[1], v[2], v[3], v[4],
                               v[5], v[6]);
    for (int i = 0; i < depth; i++)
        peer_take(peer);
}

static redisAsyncContext *async_peer;
static struct ev_loop *ev;
static int async_left;

static void on_connected(const redisAsyncContext *ac, int status)
{
    if (status != REDIS_OK)
        die("hiredis async", ac->errstr);
}

static void async_open(void)
{
    ev = ev_loop_new(EVFLAG_AUTO);
    async_peer = transport == UNIX
                     ? redisAsyncConnectUnix(given("BENCH_SOCKET"))
                     : redisAsyncConnect("127.0.0.1", port_of(transport));
    if (!async_peer || async_peer->err)
        die("hiredis async", "cannot connect");
    if (transport == TLS)
        secure(&async_peer->c);
    redisLibevAttach(ev, async_peer);
    redisAsyncSetConnectCallback(async_peer, on_connected);
}

static void async_close(void)
{
    redisAsyncFree(async_peer);
    ev_loop_destroy(ev);
}

static void on_async_reply(redisAsyncContext *ac, void *r, void *unused)
{
    redisReply *reply = r;

    (void)unused;
    if (!reply || reply->type == REDIS_REPLY_ERROR)
        die("hiredis async", reply ? reply->str : ac->errstr);
    async_left--;
}

static void async_batch(int depth)
{
    async_left = depth;
    for (int i = 0; i < depth; i++)
        redisAsyncCommandArgv(async_peer, on_async_reply, NULL, command->argc,
                              (const char **)command->argv, command->lens);
    while (async_left > 0)
        ev_run(ev, EVRUN_ONCE);
}

/* ---- one connection, several commands under way ---- */

struct contestant {
    const char *name;
    void (*open)(void);
    void (*batch)(int depth);
    void (*close)(void);
};

enum { OURS, OURS_LOOP, ARGV, ASYNC, PRINTF, CONTESTANTS };
static const struct contestant contestants[CONTESTANTS] = {
    {"ours", ours_blocking_open, ours_batch, ours_blocking_close},
    {"our loop", ours_dispatched_open, ours_dispatched_batch,
     ours_dispatched_close},
    {"argv", peer_open, peer_argv_batch, peer_close},
    {"libev", async_open, async_batch, async_close},
    {"printf", NULL, peer_printf_batch, NULL}, /* on the connection of argv */
};

static struct result one_round(const struct contestant *who, int depth)
{
    struct meter meter = meter_look();
    long before = mallocs, count = 0;
    struct result r;

    do {
        who->batch(depth);
        count += depth;
    } while (clock_us(CLOCK_MONOTONIC) - meter.clock_us < measure_us);
    r = meter_since(&meter, count);
    r.mallocs = (double)(mallocs - before) / (double)count;
    return r;
}

#define MEDIAN(results, field) \
    median_of(results, offsetof(struct result, field))
#define RATIO(who, whom, field) \
    ratio(who, whom, offsetof(struct result, field))

static void compare_depth(int depth)
{
    static struct result results[CONTESTANTS][ROUNDS_MAX];

    for (int c = 0; c < CONTESTANTS; c++)
        (void)one_round(&contestants[c], depth); /* warm */
    for (int i = 0; i < rounds; i++)
        for (int c = 0; c < CONTESTANTS; c++)
            results[c][i] = one_round(&contestants[c], depth);

    printf("%-5s %4d  ", command->name, depth);
    for (int c = 0; c < CONTESTANTS; c++)
        printf("%7.3f", MEDIAN(results[c], cpu_us));
    printf("   ");
    for (int c = ARGV; c < CONTESTANTS; c++)
        printf("%6.2f", RATIO(results[OURS], results[c], cpu_us));
    printf("%7.2f   ", RATIO(results[OURS_LOOP], results[ASYNC], cpu_us));
    printf("%6.0f%6.2f%6.2f", MEDIAN(results[OURS], per_s) / 1e3,
           RATIO(results[OURS], results[ARGV], per_s),
           RATIO(results[OURS], results[ASYNC], per_s));
    printf("   %4.1f%5.1f\n", MEDIAN(results[OURS], mallocs),
           MEDIAN(results[ARGV], mallocs));
}

static void compare_depths(void)
{
    static const int depths[] = {1, 16, 128};

    puts("             client CPU, us a command            ours over         "
         "loop over   ours  over          mallocs\n"
         "     depth    ours   loop   argv  libev printf    argv libev printf "
         " libev      k/s  argv libev    ours argv");
    for (int c = 0; c < CONTESTANTS; c++)
        if (contestants[c].open)
            contestants[c].open();
    for (size_t i = 0; i < 2; i++)
        for (size_t d = 0; d < 3; d++) {
            command = &commands[i];
            compare_depth(depths[d]);
        }
    for (int c = 0; c < CONTESTANTS; c++)
        if (contestants[c].close)
            contestants[c].close();
}

/* ---- threads that block ---- */

static void *work_ours(void *arg)
{
    struct worker *w = arg;
    struct ours_request request;
    struct batch batch;

    for (w->count = 0; !stop; w->count++) {
        hf_waiter_init(&batch.waiter, blocking.loop);
        hf_loop_lock(blocking.loop);
        ours_submit(&blocking, &request, &batch, 1);
        hf_loop_wait(&batch.waiter);
    }
    return NULL;
}

static void *work_peer(void *arg)
{
    struct worker *w = arg;
    redisContext *c = w->ctx;

    for (w->count = 0; !stop; w->count++) {
        redisAppendCommandArgv(c, command->argc, (const char **)command->argv,
                               command->lens);
        peer_take(c);
    }
    return NULL;
}

static void compare_threads_of(int threads)
{
    static struct result ours[ROUNDS_MAX], theirs[ROUNDS_MAX];
    struct worker our_workers[THREADS_MAX] = {0};
    struct worker their_workers[THREADS_MAX] = {0};

    for (int i = 0; i < threads; i++)
        their_workers[i].ctx = peer_connect();
    for (int i = 0; i < rounds; i++) {
        ours[i] = threads_round(our_workers, threads, work_ours);
        theirs[i] = threads_round(their_workers, threads, work_peer);
    }
    for (int i = 0; i < threads; i++)
        redisFree(their_workers[i].ctx);
    printf("%-5s %4d  %7.2f%7.2f%6.2f    %6.1f%7.1f%6.2f    %7.2f%7.2f%6.2f\n",
           command->name, threads, MEDIAN(ours, cpu_us),
           MEDIAN(theirs, cpu_us), RATIO(ours, theirs, cpu_us),
           MEDIAN(ours, per_s) / 1e3, MEDIAN(theirs, per_s) / 1e3,
           RATIO(ours, theirs, per_s), MEDIAN(ours, server_us),
           MEDIAN(theirs, server_us), RATIO(ours, theirs, server_us));
}

static void compare_threads(void)
{
    static const int threads[] = {1, 4, 8, 64};

    puts("              client CPU, us a command   k/s                    "
         "server CPU, us\n"
         "   threads     ours   each ratio      ours   each ratio       "
         "ours   each ratio");
    ours_blocking_open();
    for (size_t i = 0; i < 2; i++)
        for (size_t t = 0; t < sizeof threads / sizeof *threads; t++) {
            command = &commands[i];
            compare_threads_of(threads[t]);
        }
    ours_blocking_close();
}

/* ---- all of it ---- */

int main(int argc, char **argv)
{
    rounds_init(argc, argv, 150, 7);
    commands_init();
    load_script(&hf_script_acquire);
    for (size_t l = 0; l < 2; l++)
        for (transport = TCP; transport < TRANSPORTS; transport++) {
            if (transport == TLS && (!HAS_PEER_TLS || !hf_tls_library()))
                continue;
            arrange(&layouts[l], server_pid());
            printf("\n-- %s, %s\n", layouts[l].name,
                   transport_names[transport]);
            command = &commands[0];
            compare_depths();
            putchar('\n');
            compare_threads();
        }
    return 0;
}
