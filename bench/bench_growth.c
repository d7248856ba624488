/* How cost grows with the holds of a client and with the clients of a server: bytes, commands,
 * wake-ups and the processor's time of both sides, of which a loaded machine changes little. No
 * times of the clock. tests/sim/growth.c measures what is too large for a machine.
 *
 *     bench_growth [holds | clients | cluster]              (started by bench/run.sh)
 *
 * All clients have one loop and one thread. The processor's time includes the kernel's. */
#include <string.h>
#include <sys/resource.h>

#include "bench/count_bytes.h"
#include "bench/measure.h"
#include "bench/three_masters.h"
#include "holdfast.h"

#define CLIENTS_MAX 10000
#define PENDING_MAX 1000

static redisContext *control;
static struct hf_loop *loop;
static struct hf_client *clients[CLIENTS_MAX];
static int pending;

/* ---- what was done, and what it cost ---- */

struct tally {
    uint64_t requests, writes, renewals, renewal_requests, turns, waits;
    double client_us, server_us;
};

static double server_cpu_us(bool is_cluster)
{
    double us = 0;

    for (int i = 0; is_cluster && i < MASTERS; i++)
        us += cpu_us_of(three_masters[i].pid);
    return is_cluster ? us : cpu_us_of(server_pid());
}

static struct tally tally_of(int count, bool is_cluster)
{
    struct tally t = {.client_us = own_cpu_us(), .server_us = server_cpu_us(is_cluster)};
    struct hf_client_stats s;

    for (int i = 0; i < count; i++) {
        hf_client_get_stats(clients[i], &s);
        t.requests += s.link.requests;
        t.writes += s.link.writes;
        t.renewals += s.renewals;
        t.renewal_requests += s.renewal_requests;
    }
    t.turns = s.loop.turns;
    t.waits = s.loop.waits;
    return t;
}

static struct tally minus(struct tally b, struct tally a)
{
    return (struct tally){
        .requests = b.requests - a.requests,
        .writes = b.writes - a.writes,
        .renewals = b.renewals - a.renewals,
        .renewal_requests = b.renewal_requests - a.renewal_requests,
        .turns = b.turns - a.turns,
        .waits = b.waits - a.waits,
        .client_us = b.client_us - a.client_us,
        .server_us = b.server_us - a.server_us,
    };
}

static double per(double cost, uint64_t count)
{
    return count > 0 && cost > 0 ? cost / (double)count : 0;
}

static void tell(const char *command)
{
    redisReply *reply = redisCommand(control, command);

    if (!reply || reply->type == REDIS_REPLY_ERROR)
        die(command, reply ? reply->str : control->errstr);
    freeReplyObject(reply);
}

static long server_bytes(void)
{
    redisReply *reply = redisCommand(control, "INFO memory");
    const char *at = reply ? strstr(reply->str, "used_memory:") : NULL;
    long bytes = at ? atol(at + strlen("used_memory:")) : 0;

    freeReplyObject(reply);
    return bytes;
}

/* ---- clients and holds ---- */

static struct hf_client *client_new(const char *url, int64_t watchdog_ms)
{
    struct hf_client_options options;
    struct hf_client *client;
    struct hf_error err;

    hf_client_options_init(&options);
    options.url = url;
    options.mem = &counting;
    options.loop = loop;
    options.thread = false;
    options.watchdog_ms = watchdog_ms;
    if (hf_client_new(&client, &options, &err) < 0)
        die("client", err.text);
    return client;
}

static void on_granted(void *ctx, hf_status status, const struct hf_error *err)
{
    (void)ctx;
    if (status != HF_OK)
        die("acquire", err ? err->text : "failed");
    pending--;
}

static void hold(struct hf_client *client, int number)
{
    struct hf_acquire_options options;
    struct hf_lock *lock;
    struct hf_error err;
    char name[32];
    int len = snprintf(name, sizeof name, "held-%07d", number);

    hf_acquire_options_init(&options);
    options.owner = 1;
    if (hf_lock_new(&lock, client, name, (size_t)len, &err) < 0)
        die("lock", err.text);
    if (hf_lock_acquire_async(lock, &options, on_granted, NULL) < 0)
        die("acquire", "refused");
    hf_lock_free(lock);
    pending++;
    while (pending >= PENDING_MAX)
        hf_loop_dispatch(loop, 100);
}

static void drive_until_granted(void)
{
    while (pending > 0)
        hf_loop_dispatch(loop, 100);
}

static void drive_ms(int64_t ms)
{
    int64_t until_ms = hf_clock_ms() + ms;

    while (hf_clock_ms() < until_ms)
        hf_loop_dispatch(loop, (int)(until_ms - hf_clock_ms()));
}

/* The rest of the bytes is work of holds that were just renewed. */
static long least_bytes_in(int64_t ms)
{
    long least = live_bytes;

    for (; ms > 0; ms -= 50) {
        drive_ms(50);
        least = live_bytes < least ? live_bytes : least;
    }
    return least;
}

/* Of the servers without a client; a server has timers of its own. */
static double idle_us_of_ms;

static void measure_idle(bool is_cluster)
{
    struct timespec second = {1, 0};
    double before = server_cpu_us(is_cluster);

    nanosleep(&second, NULL);
    idle_us_of_ms = (server_cpu_us(is_cluster) - before) / 1000;
}

/* What happens in this time, without what the servers do by themselves. */
static struct tally measure_for(int64_t ms, int count, bool is_cluster)
{
    struct tally before = tally_of(count, is_cluster), t;

    drive_ms(ms);
    t = minus(tally_of(count, is_cluster), before);
    t.server_us -= idle_us_of_ms * (double)ms;
    return t;
}

static void begin(void)
{
    struct hf_loop_options options = HF_LOOP_OPTIONS_INIT;

    options.mem = &counting;
    if (hf_loop_new(&loop, &options) < 0)
        die("loop", "cannot be created");
}

static void end(int count)
{
    for (int i = 0; i < count; i++)
        hf_client_free(clients[i]);
    hf_loop_free(loop);
    if (live_bytes != 0)
        die("memory", "not all of it was freed");
}

static const char *url_of_server(void)
{
    static char url[48];

    (void)snprintf(url, sizeof url, "redis://127.0.0.1:%d", server_port());
    return url;
}

/* ---- holds of one client ---- */

/* Long enough that no renewal is due before all are held. */
static int64_t watchdog_ms_of(int holds)
{
    return holds <= 10000 ? 9000 : holds <= 100000 ? 30000 : 180000;
}

static void measure_holds(int holds)
{
    int64_t third_ms = watchdog_ms_of(holds) / 3;
    long before_bytes, idle, on_server;
    struct tally before, acquired, renewed;

    begin();
    clients[0] = client_new(url_of_server(), watchdog_ms_of(holds));
    hold(clients[0], 9999999); /* connects, and makes the script known */
    drive_until_granted();
    before_bytes = live_bytes;
    on_server = server_bytes();
    before = tally_of(1, false);
    for (int i = 0; i < holds; i++)
        hold(clients[0], i);
    drive_until_granted();
    acquired = minus(tally_of(1, false), before);
    on_server = server_bytes() - on_server;
    idle = least_bytes_in(third_ms) - before_bytes;
    renewed = measure_for(third_ms, 1, false);
    printf("| %d | %.0f | %.0f | %.2f | %.1f | %.1f | %.3f | %.2f | %.2f | %.4f |\n", holds,
           (double)idle / holds, (double)on_server / holds,
           per((double)acquired.requests, (uint64_t)holds), acquired.client_us / holds,
           acquired.server_us / holds,
           per((double)renewed.renewal_requests, renewed.renewals),
           per(renewed.client_us, renewed.renewals), per(renewed.server_us, renewed.renewals),
           per((double)renewed.turns, renewed.renewals));
    (void)fflush(stdout);
    end(1);
    tell("FLUSHALL");
}

static void grow_holds(int most)
{
    measure_idle(false);
    printf("\n| holds | bytes a hold, client | bytes, server | commands an acquire | "
           "us an acquire, client | us, server | commands a renewal | us a renewal, client | "
           "us a renewal, server | wake-ups a renewal |\n"
           "|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|\n");
    for (int holds = 100; holds <= most; holds *= 10)
        measure_holds(holds);
}

/* ---- clients, each with a name of its own ---- */

#define CLIENT_WATCHDOG_MS 30000

static void measure_clients(int count)
{
    long before_bytes, idle, on_server;
    struct tally before, started, renewed;

    begin();
    before_bytes = live_bytes;
    on_server = server_bytes();
    before = (struct tally){.client_us = own_cpu_us(), .server_us = server_cpu_us(false)};
    for (int i = 0; i < count; i++) {
        clients[i] = client_new(url_of_server(), CLIENT_WATCHDOG_MS);
        hold(clients[i], i);
    }
    drive_until_granted();
    started = minus(tally_of(count, false), before);
    on_server = server_bytes() - on_server;
    idle = least_bytes_in(CLIENT_WATCHDOG_MS / 3) - before_bytes;
    renewed = measure_for(CLIENT_WATCHDOG_MS / 3, count, false);
    printf("| %d | %.0f | %.0f | %.1f | %.0f | %.0f | %.2f | %.1f | %.1f | %.2f |\n", count,
           (double)idle / count, (double)on_server / count,
           per((double)started.requests, (uint64_t)count), started.client_us / count,
           started.server_us / count,
           per((double)renewed.renewal_requests, renewed.renewals),
           per(renewed.client_us, renewed.renewals), per(renewed.server_us, renewed.renewals),
           per((double)renewed.turns, renewed.renewals));
    (void)fflush(stdout);
    end(count);
    tell("FLUSHALL");
}

static void grow_clients(int most)
{
    struct rlimit files;

    if (getrlimit(RLIMIT_NOFILE, &files) != 0 ||
        setrlimit(RLIMIT_NOFILE, &(struct rlimit){files.rlim_max, files.rlim_max}) != 0)
        die("setrlimit", "failed");
    measure_idle(false);
    tell("CONFIG SET maxclients 10100");
    printf("\n| clients | bytes a client | bytes, server | commands a start | us a start, client | "
           "us, server | commands a renewal | us a renewal, client | us a renewal, server | "
           "wake-ups a renewal |\n"
           "|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|\n");
    for (int count = 1; count <= most; count *= 10)
        measure_clients(count);
}

/* ---- holds in a cluster ---- */

#define CLUSTER_WATCHDOG_MS 30000

static void measure_cluster(int holds)
{
    char url[48];
    struct tally renewed;
    int third_ms = CLUSTER_WATCHDOG_MS / 3;

    (void)snprintf(url, sizeof url, "redis+cluster://127.0.0.1:%d", FIRST_PORT);
    begin();
    clients[0] = client_new(url, CLUSTER_WATCHDOG_MS);
    for (int i = 0; i < holds; i++)
        hold(clients[0], i);
    drive_until_granted();
    drive_ms(2 * third_ms);
    renewed = measure_for(third_ms, 1, true);
    printf("| %d | %llu | %llu | %llu | %llu | %.2f | %.2f | %.2f | %.2f |\n", holds,
           (unsigned long long)renewed.renewals, (unsigned long long)renewed.renewal_requests,
           (unsigned long long)renewed.writes, (unsigned long long)renewed.turns,
           per(renewed.client_us, renewed.renewals), per(renewed.server_us, renewed.renewals),
           renewed.client_us / third_ms / 10, renewed.server_us / third_ms / 10 / MASTERS);
    (void)fflush(stdout);
    end(1);
    for (int i = 0; i < MASTERS; i++)
        tell_master(&three_masters[i], "FLUSHALL");
}

static void grow_cluster(void)
{
    three_masters_start();
    measure_idle(true);
    printf("\n| holds, three masters | renewals in a third | commands | writes | wake-ups | "
           "us a renewal, client | us, servers | %% of a core, client | %% of a core, a server |\n"
           "|---:|---:|---:|---:|---:|---:|---:|---:|---:|\n");
    for (int holds = 1000; holds <= 100000; holds *= 10)
        measure_cluster(holds);
    three_masters_stop();
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "";

    control = redisConnect("127.0.0.1", server_port());
    if (!*what || strcmp(what, "holds") == 0)
        grow_holds(1000000);
    if (!*what || strcmp(what, "clients") == 0)
        grow_clients(CLIENTS_MAX);
    if (!*what || strcmp(what, "cluster") == 0)
        grow_cluster();
    redisFree(control);
    return 0;
}
