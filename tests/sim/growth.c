/* How cost grows with clients that wait and with masters, beyond the size of a machine: counts,
 * bytes and simulated times (docs/growth.md).
 *
 *     growth [clients | masters]                           (started by make bench-growth)
 *
 * The processor's time is that of the library's code in the turns of its loops, without the
 * kernel's, which is simulated. */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "bench/count_bytes.h"
#include "net/loop/poller.h"
#include "net/wire/socket.h"
#include "tests/sim/masters.h"
#include "tests/support/must.h"

#define NAME "job"
#define HOUR_MS 3600000

/* ---- the processor's time ---- */

static double cpu_us;           /* of the library in all turns so far */
static double began_us;

static double now_cpu_us(void)
{
    struct timespec t;

    (void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

static void enter_library(void)
{
    began_us = now_cpu_us();
}

static void leave_library(void)
{
    cpu_us += now_cpu_us() - began_us;
}

/* Turns begin here, and the stand-ins of the system's calls are not the library's. */
void __real_hf_loop_dispatch(struct hf_loop *loop, int timeout_ms);
void __wrap_hf_loop_dispatch(struct hf_loop *loop, int timeout_ms);
int __real_hf_poller_wait(struct hf_poller *p, struct hf_poller_event *events, int timeout_ms,
                          int64_t now_ms);
int __wrap_hf_poller_wait(struct hf_poller *p, struct hf_poller_event *events, int timeout_ms,
                          int64_t now_ms);
long __real_hf_socket_read(int fd, void *ptr, size_t room);
long __wrap_hf_socket_read(int fd, void *ptr, size_t room);
long __real_hf_socket_write(int fd, const void *ptr, size_t len);
long __wrap_hf_socket_write(int fd, const void *ptr, size_t len);

void __wrap_hf_loop_dispatch(struct hf_loop *loop, int timeout_ms)
{
    enter_library();
    __real_hf_loop_dispatch(loop, timeout_ms);
    leave_library();
}

int __wrap_hf_poller_wait(struct hf_poller *p, struct hf_poller_event *events, int timeout_ms,
                          int64_t now_ms)
{
    int n;

    leave_library();
    n = __real_hf_poller_wait(p, events, timeout_ms, now_ms);
    enter_library();
    return n;
}

long __wrap_hf_socket_read(int fd, void *ptr, size_t room)
{
    long n;

    leave_library();
    n = __real_hf_socket_read(fd, ptr, room);
    enter_library();
    return n;
}

long __wrap_hf_socket_write(int fd, const void *ptr, size_t len)
{
    long n;

    leave_library();
    n = __real_hf_socket_write(fd, ptr, len);
    enter_library();
    return n;
}

/* ---- clients ---- */

struct party {
    struct hf_client *client;
    struct hf_lock *lock;
    int64_t granted_us;         /* 0: not yet */
};

static struct harness harness;
static struct process *process; /* of all clients */
static int grants;

static void run_for(int64_t us)
{
    world_run(harness.sim.world, harness_now_us(&harness) + us);
}

static struct hf_client *client_new(const char *url, int64_t watchdog_ms)
{
    struct hf_client_options o;
    struct hf_client *client;

    hf_client_options_init(&o);
    o.url = url;
    o.mem = &counting;
    o.thread = false;
    o.watchdog_ms = watchdog_ms;
    o.request_timeout_ms = 20000; /* a call outlives a failover */
    must(hf_client_new(&client, &o, NULL) == HF_OK);
    process_drive(process, hf_client_loop(client));
    return client;
}

static void on_granted(void *ctx, hf_status status, const struct hf_error *err)
{
    struct party *party = ctx;

    if (status == HF_E_CLOSED)
        return;
    if (status != HF_OK)
        fprintf(stderr, "growth: acquire: %s\n", err ? err->text : "failed");
    must(status == HF_OK);
    party->granted_us = harness_now_us(&harness);
    grants++;
}

static void begin_acquire(struct party *party)
{
    struct hf_acquire_options o;

    (void)process_enter(process);
    hf_acquire_options_init(&o);
    o.owner = 1;
    party->granted_us = 0;
    enter_library();
    must(hf_lock_acquire_async(party->lock, &o, on_granted, party) == HF_OK);
    leave_library();
    (void)process_enter(NULL);
}

static void on_released(void *ctx, hf_status status, const struct hf_error *err)
{
    (void)ctx;
    if (status != HF_OK)
        fprintf(stderr, "growth: release: %d %s\n", status, err ? err->text : "");
    must(status == HF_OK);
}

static void begin_release(struct party *party)
{
    (void)process_enter(process);
    enter_library();
    must(hf_lock_release_async(party->lock, 1, on_released, NULL) == HF_OK);
    leave_library();
    (void)process_enter(NULL);
}

/* What clients and the world had done, and what it cost. */
struct tally {
    uint64_t commands, writes, reads, bytes_in, turns, renewals, renewal_commands, rounds;
    double cpu_us;
};

static void tally_client(struct tally *t, struct hf_client *client)
{
    struct hf_client_stats s;

    hf_client_get_stats(client, &s);
    t->commands += s.link.requests;
    t->writes += s.link.writes;
    t->reads += s.link.reads;
    t->bytes_in += s.link.bytes_in;
    t->renewals += s.renewals;
    t->renewal_commands += s.renewal_requests;
    t->rounds += s.route.refreshes;
}

static struct tally tally_of(const struct party *parties, int count)
{
    struct tally t = {.turns = world_counts(harness.sim.world).turns, .cpu_us = cpu_us};

    for (int i = 0; i < count; i++)
        tally_client(&t, parties[i].client);
    return t;
}

/* ---- clients that wait for one name ---- */

#define CLIENTS_MAX 10000
#define RELEASES 4

static struct party parties[CLIENTS_MAX];

static void add_client(struct party *party)
{
    (void)process_enter(process);
    *party = (struct party){.client = client_new("redis://10.0.0.1:6379", HOUR_MS)};
    must(hf_lock_new(&party->lock, party->client, NAME, strlen(NAME), NULL) == HF_OK);
    (void)process_enter(NULL);
}

static struct party *last_granted(int count)
{
    struct party *last = &parties[0];

    for (int i = 1; i < count; i++)
        if (parties[i].granted_us > last->granted_us)
            last = &parties[i];
    return last;
}

static void begin_clients(int count)
{
    harness_begin(&harness, 1, "growth", 1);
    process = harness_process(&harness, 1);
    live_bytes = 0;
    add_client(&parties[0]);
    begin_acquire(&parties[0]);
    run_for(1000000);
    for (int i = 1; i < count; i++) {
        add_client(&parties[i]);
        begin_acquire(&parties[i]);
    }
    run_for(10000000);
}

static void end_clients(int count)
{
    (void)process_enter(process);
    for (int i = 0; i < count; i++) {
        hf_lock_free(parties[i].lock);
        hf_client_free(parties[i].client);
    }
    (void)process_enter(NULL);
    harness_end(&harness);
}

/* Of a release, and of the second that follows. Then the former holder waits again. */
struct after_release {
    double commands, wakes, cpu_us;
    int64_t next_us;            /* until the next client holds it */
};

static struct after_release measure_release(struct party *holder, int count)
{
    struct tally before = tally_of(parties, count), after;
    int64_t now_us = harness_now_us(&harness);
    struct after_release r;

    begin_release(holder);
    run_for(1000000);
    after = tally_of(parties, count);
    r = (struct after_release){
        .commands = (double)(after.commands - before.commands),
        .wakes = (double)(after.turns - before.turns),
        .cpu_us = after.cpu_us - before.cpu_us,
        .next_us = last_granted(count)->granted_us - now_us,
    };
    begin_acquire(holder);
    return r;
}

static void measure_clients(int count)
{
    struct after_release first, later = {0}, r;
    long bytes;

    begin_clients(count);
    bytes = live_bytes / count;
    first = measure_release(&parties[0], count);
    for (int i = 0; i < RELEASES; i++) {
        run_for(2500000);
        r = measure_release(last_granted(count), count);
        later.commands += r.commands / RELEASES;
        later.wakes += r.wakes / RELEASES;
        later.cpu_us += r.cpu_us / RELEASES;
        later.next_us += r.next_us / RELEASES;
    }
    printf("| %d | %ld | %.0f | %.0f | %.0f | %.0f | %.2f |\n", count - 1, bytes, first.commands,
           later.commands, later.wakes, later.cpu_us, (double)later.next_us / 1e3);
    (void)fflush(stdout);
    end_clients(count);
}

static void grow_clients(void)
{
    static const int waiting[] = {1, 10, 100, 1000, 3000, 9999};

    printf("\n| waiting clients | bytes a client | commands, first release | commands a release | "
           "wake-ups a release | us a release | ms to the next grant |\n"
           "|---:|---:|---:|---:|---:|---:|---:|\n");
    for (size_t i = 0; i < sizeof waiting / sizeof *waiting; i++)
        measure_clients(waiting[i] + 1);
}

/* ---- masters ---- */

#define WATCHDOG_MS 30000
#define FAILOVER_US 5000000     /* from the failure until the replica is a master, at least */
#define FAILOVERS 4             /* and up to a second more */

static struct masters masters;
static struct party shards[MASTERS_MAX + 1]; /* a hold of each master; and the call that waits */
/* `number`: of the names that this master has. */
static void name_of_master(char *name, size_t size, int master, int number)
{
    for (int i = 0;; i++) {
        (void)snprintf(name, size, "lock-%d", i);
        if (masters_of(&masters, name) == master && number-- == 0)
            return;
    }
}

static void open_shard(struct party *party, struct hf_client *client, int master, int number)
{
    char name[32];

    name_of_master(name, sizeof name, master, number);
    (void)process_enter(process);
    party->client = client;
    must(hf_lock_new(&party->lock, client, name, strlen(name), NULL) == HF_OK);
    (void)process_enter(NULL);
    begin_acquire(party);
}

struct growth {
    long bytes_one, bytes_all;
    double commands, writes, cpu_us; /* of a renewal */
};

/* Of the holds that there are. */
static void measure_minute(struct growth *g)
{
    struct tally a, b;
    double renewals;

    run_for(15000000); /* each server has the script then */
    a = tally_of(shards, 1);
    run_for(60000000);
    b = tally_of(shards, 1);
    renewals = (double)(b.renewals - a.renewals);
    g->commands = (double)(b.renewal_commands - a.renewal_commands) / renewals;
    g->writes = (double)(b.writes - a.writes) / renewals;
    g->cpu_us = (b.cpu_us - a.cpu_us) / renewals;
}

static struct growth begin_masters(int count, bool is_scattered)
{
    struct hf_client *client;
    struct growth g;

    masters_begin(&masters, &harness, count, is_scattered);
    process = harness_process(&harness, 1);
    live_bytes = 0;
    grants = 0;
    (void)process_enter(process);
    client = client_new(masters_url(), WATCHDOG_MS);
    (void)process_enter(NULL);
    open_shard(&shards[0], client, 0, 0);
    run_for(5000000);
    g.bytes_one = live_bytes;
    for (int i = 1; i < count; i++)
        open_shard(&shards[i], client, i, 0);
    run_for(5000000);
    g.bytes_all = live_bytes;
    must(grants == count);
    return g;
}

static void end_masters(int count)
{
    (void)process_enter(process);
    for (int i = 0; i < count; i++)
        hf_lock_free(shards[i].lock);
    hf_client_free(shards[0].client);
    (void)process_enter(NULL);
    masters_end(&masters);
}

struct failover {
    double granted_ms, most_ms; /* after the promotion: on average, at most */
    double maps, cpu_ms, kib_in;
};

/* The first master fails, and a call waits for it until its replica is a master. */
static void fail_over(struct failover *f, int count, bool is_silent, int run)
{
    struct tally a = tally_of(shards, 1), b;
    int64_t promoted_us;
    double ms;

    if (is_silent)
        server_lose_power(masters.servers[0]);
    else
        server_take_down(masters.servers[0]);
    open_shard(&shards[count], shards[0].client, 0, 1);
    run_for(FAILOVER_US + run * 1000000 / FAILOVERS);
    masters_promote(&masters);
    promoted_us = harness_now_us(&harness);
    while (shards[count].granted_us == 0)
        run_for(1000);
    b = tally_of(shards, 1);
    ms = (double)(shards[count].granted_us - promoted_us) / 1e3;
    f->granted_ms += ms / FAILOVERS;
    f->most_ms = ms > f->most_ms ? ms : f->most_ms;
    f->maps += (double)(b.rounds - a.rounds) / FAILOVERS;
    f->cpu_ms += (b.cpu_us - a.cpu_us) / 1e3 / FAILOVERS;
    f->kib_in += (double)(b.bytes_in - a.bytes_in) / 1024 / FAILOVERS;
    (void)process_enter(process);
    hf_lock_free(shards[count].lock);
    (void)process_enter(NULL);
}

static struct failover fail_over_often(int count, bool is_scattered, bool is_silent)
{
    struct failover f = {0};

    for (int run = 0; run < FAILOVERS; run++) {
        (void)begin_masters(count, is_scattered);
        fail_over(&f, count, is_silent, run);
        end_masters(count);
    }
    return f;
}

static void measure_masters(int count, bool is_scattered)
{
    struct growth g = begin_masters(count, is_scattered);
    struct failover f, silent;

    measure_minute(&g);
    end_masters(count);
    f = fail_over_often(count, is_scattered, false);
    silent = fail_over_often(count, is_scattered, true);
    printf("| %d%s | %ld | %ld | %.2f | %.2f | %.1f | %.0f | %.0f | %.0f | %.0f | %.1f | %.1f |"
           " %.0f |\n", count, is_scattered ? ", scattered" : "", g.bytes_one,
           (g.bytes_all - g.bytes_one) / (count - 1), g.commands, g.writes, g.cpu_us, f.granted_ms,
           f.most_ms, silent.granted_ms, silent.most_ms, f.maps, f.cpu_ms, f.kib_in);
    (void)fflush(stdout);
}

static void grow_masters(void)
{
    static const int counts[] = {3, 10, 30, 100, 300, 1000};

    printf("\n| masters | bytes with one connection | bytes of each further master | "
           "commands a renewal | writes a renewal | us a renewal | killed: ms to a grant | at most | "
           "silent: ms to a grant | at most | rounds | CPU ms | KiB received |\n"
           "|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|\n");
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++)
        measure_masters(counts[i], false);
    measure_masters(1000, true);
}

/* ---- holds of one client in a cluster ---- */

#define HOLDS_MAX 100000
#define THIRD_US (WATCHDOG_MS / 3 * 1000)

static struct party holder;
static bool is_slot_used[MODEL_SLOTS];

static int count_slots(int holds)
{
    int used = 0;

    memset(is_slot_used, 0, sizeof is_slot_used);
    for (int i = 0; i < holds; i++) {
        char name[32];
        int len = snprintf(name, sizeof name, "lock-%d", i);
        bool *is_used = &is_slot_used[model_cluster_slot(name, (size_t)len)];

        used += !*is_used;
        *is_used = true;
    }
    return used;
}

static void hold(int number)
{
    char name[32];
    int len = snprintf(name, sizeof name, "lock-%d", number);

    (void)process_enter(process);
    must(hf_lock_new(&holder.lock, holder.client, name, (size_t)len, NULL) == HF_OK);
    (void)process_enter(NULL);
    begin_acquire(&holder);
    (void)process_enter(process);
    hf_lock_free(holder.lock);
    (void)process_enter(NULL);
}

/* A third of the lease, in which each hold is renewed once. */
static void measure_holds(int holds)
{
    struct tally a, b;
    long bytes;

    masters_begin(&masters, &harness, 3, false);
    process = harness_process(&harness, 1);
    live_bytes = 0;
    grants = 0;
    (void)process_enter(process);
    holder.client = client_new(masters_url(), WATCHDOG_MS);
    (void)process_enter(NULL);
    for (int i = 0; i < holds; i++) {
        hold(i);
        if (i % 100 == 99)
            run_for(1000);
    }
    run_for(2 * THIRD_US);
    must(grants == holds);
    bytes = peak_bytes = live_bytes;
    a = tally_of(&holder, 1);
    run_for(THIRD_US);
    b = tally_of(&holder, 1);
    printf("| %d | %ld | %ld | %d | %llu | %llu | %llu | %llu | %.2f | %.2f |\n", holds, bytes / holds,
           (long)peak_bytes / holds, count_slots(holds), (unsigned long long)(b.renewals - a.renewals),
           (unsigned long long)(b.renewal_commands - a.renewal_commands),
           (unsigned long long)(b.writes - a.writes), (unsigned long long)(b.turns - a.turns),
           (b.cpu_us - a.cpu_us) / (double)(b.renewals - a.renewals),
           (b.cpu_us - a.cpu_us) / THIRD_US * 100);
    (void)fflush(stdout);
    (void)process_enter(process);
    hf_client_free(holder.client);
    (void)process_enter(NULL);
    masters_end(&masters);
    grants = 0;
}

static void grow_holds(void)
{
    printf("\n| holds | bytes a hold | at most | slots in use | renewals in a third | commands | writes | "
           "wake-ups | us a renewal | %% of a core |\n"
           "|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|\n");
    for (int holds = 100; holds <= HOLDS_MAX; holds *= 10)
        measure_holds(holds);
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "";

    if (!*what || strcmp(what, "clients") == 0)
        grow_clients();
    if (!*what || strcmp(what, "holds") == 0)
        grow_holds();
    if (!*what || strcmp(what, "masters") == 0)
        grow_masters();
    return 0;
}
