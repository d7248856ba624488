/* Faults, by name. Each says when it begins and ends; `on` names the servers, and
 * the clients where it touches only those of one side. */
#include "tests/soak/chaos_faults.h"

#include <check.h>
#include <hiredis/hiredis.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "net/route/slot.h"
#include "tests/soak/chaos_guarded.h"
#include "tests/soak/chaos_sets.h"
#include "tests/support/dice.h"
#include "tests/support/local.h"

#define KILLS_MAX 500
#define SAVES_MAX 300               /* 3 s */

static void pause_ms(uint64_t ms)
{
    local_rest_us((int64_t)ms * 1000);
}

/* Is there a kind that was never done? All must be, in a minute. */
static bool is_hurried;

/* Short mostly; one in six as long as a lease. */
static void a_while(struct run *r)
{
    bool is_long = dice_of(&r->seed, 6) == 0 && !is_hurried;

    pause_ms(is_long ? 1000 + dice_of(&r->seed, 4000)
                     : 20 + dice_of(&r->seed, 500));
}

static int any_proxied(struct run *r)
{
    return (int)dice_of(&r->seed, (uint64_t)r->place->proxied_count);
}

static int any_server(struct run *r)
{
    return (int)dice_of(&r->seed, (uint64_t)r->place->server_count);
}

static const char *any_lock(struct run *r)
{
    return chaos_handles[dice_of(&r->seed, CHAOS_HANDLES)].name;
}

static void say(struct run *r, const char *what, int server, const char *state)
{
    run_line(r, "w fault what=%s on=s%d state=%s", what, server + 1, state);
}

/* ---- the network ---- */

/* One side in two is touched alone. */
static int any_side(struct run *r)
{
    return (int)dice_of(&r->seed, PLACE_SIDES + 1);
}

/* The clients of a side; both, if it is none. */
static void say_side(struct run *r, const char *what, int server, int side,
                     const char *state)
{
    char on[128];
    int len = snprintf(on, sizeof on, "s%d", server + 1);

    for (int i = 0; i < RUN_WORKERS; i++)
        if (side == PLACE_SIDES || i % PLACE_SIDES == side)
            len += snprintf(on + len, sizeof on - (size_t)len, ",c%u",
                            r->workers[i].client);
    run_line(r, "w fault what=%s on=%s state=%s", what, on, state);
}

typedef void on_proxy(struct proxy *p, struct run *r);

static void each_proxy(struct run *r, int server, int side, on_proxy *do_it)
{
    for (int i = 0; i < PLACE_SIDES; i++)
        if (side == PLACE_SIDES || side == i)
            do_it(r->place->proxies[server][i], r);
}

static void disturb(struct run *r, const char *what, on_proxy *begin,
                    on_proxy *end)
{
    int server = any_proxied(r), side = any_side(r);

    say_side(r, what, server, side, "begin");
    each_proxy(r, server, side, begin);
    a_while(r);
    each_proxy(r, server, side, end);
    say_side(r, what, server, side, "end");
}

static void hold_requests(struct proxy *p, struct run *r)
{
    (void)r;
    proxy_hold(p, PROXY_TO_SERVER, true);
}

static void hold_replies(struct proxy *p, struct run *r)
{
    (void)r;
    proxy_hold(p, PROXY_TO_CLIENT, true);
}

static void hold_both(struct proxy *p, struct run *r)
{
    hold_requests(p, r);
    hold_replies(p, r);
}

static void pass(struct proxy *p, struct run *r)
{
    (void)r;
    proxy_hold(p, PROXY_TO_SERVER, false);
    proxy_hold(p, PROXY_TO_CLIENT, false);
}

/* What is held back comes late, or, if the connection is cut, never. */
static void pass_or_cut(struct proxy *p, struct run *r)
{
    if (dice_of(&r->seed, 2) == 0)
        proxy_cut(p, PROXY_RESET);
    pass(p, r);
}

static void slow_down(struct proxy *p, struct run *r)
{
    proxy_delay(p, PROXY_TO_SERVER, (int)dice_of(&r->seed, 300));
    proxy_delay(p, PROXY_TO_CLIENT, (int)dice_of(&r->seed, 300));
    proxy_slice(p, PROXY_TO_CLIENT, 1 + (size_t)dice_of(&r->seed, 64));
}

static void speed_up(struct proxy *p, struct run *r)
{
    (void)r;
    proxy_delay(p, PROXY_TO_SERVER, 0);
    proxy_delay(p, PROXY_TO_CLIENT, 0);
    proxy_slice(p, PROXY_TO_CLIENT, 0);
}

static void cut(struct proxy *p, struct run *r)
{
    proxy_cut(p, dice_of(&r->seed, 2) ? PROXY_CLOSE : PROXY_RESET);
}

static void cut_soon(struct proxy *p, struct run *r)
{
    proxy_cut_after(p, dice_of(&r->seed, 2) ? PROXY_TO_SERVER : PROXY_TO_CLIENT,
                    1 + dice_of(&r->seed, 2000), PROXY_RESET);
}

static void nothing(struct proxy *p, struct run *r)
{
    (void)p;
    (void)r;
}

static void requests_held(struct run *r)
{
    disturb(r, "requests-held", hold_requests, pass_or_cut);
}

static void replies_held(struct run *r)
{
    disturb(r, "replies-held", hold_replies, pass_or_cut);
}

static void partition(struct run *r)
{
    disturb(r, "partition", hold_both, pass_or_cut);
}

static void slow_link(struct run *r)
{
    disturb(r, "slow-link", slow_down, speed_up);
}

static void connections_cut(struct run *r)
{
    disturb(r, "connections-cut", cut, nothing);
}

static void cut_in_a_message(struct run *r)
{
    disturb(r, "cut-in-a-message", cut_soon, nothing);
}

/* ---- servers ---- */

static void server_stopped(struct run *r)
{
    int server = any_server(r);

    say(r, "server-stopped", server, "begin");
    server_pause(r->place->servers[server]);
    pause_ms(20 + dice_of(&r->seed, 500));
    server_resume(r->place->servers[server]);
    say(r, "server-stopped", server, "end");
}

/* No client has heard of what the watch has not seen: a server that is killed may
 * have answered a client last, and MONITOR not any more. */
static void kill_server(struct run *r, int server)
{
    each_proxy(r, server, PLACE_SIDES, hold_replies);
    chaos_watch_await(r->watches[server]);
    server_kill(r->place->servers[server]);
    each_proxy(r, server, PLACE_SIDES, cut);
    each_proxy(r, server, PLACE_SIDES, pass);
}

/* Clients are kept away until the watch is there: what it has not seen cannot be
 * judged. */
static void restart(struct run *r, int server)
{
    each_proxy(r, server, PLACE_SIDES, hold_both);
    server_restart(r->place->servers[server]);
    place_follow(r->place, server);
    chaos_watch_await(r->watches[server]);
    each_proxy(r, server, PLACE_SIDES, pass);
}

static void restarted(struct run *r)
{
    int server = any_server(r);

    say(r, "restart", server, "begin");
    run_line(r, "s%d down", server + 1);
    kill_server(r, server);
    pause_ms(dice_of(&r->seed, 1500));
    restart(r, server);
    run_line(r, "s%d up", server + 1);
    say(r, "restart", server, "end");
}

static void restarted_empty(struct run *r)
{
    char from[128], to[160];

    say(r, "restart-empty", 0, "begin");
    run_line(r, "s1 down");
    kill_server(r, 0);
    (void)snprintf(from, sizeof from, "%s/appendonlydir",
                   server_folder(r->place->servers[0]));
    (void)snprintf(to, sizeof to, "%s-%d", from, rand());
    (void)rename(from, to);
    restart(r, 0);
    run_line(r, "s1 up");
    say(r, "restart-empty", 0, "end");
}

/* Whom clients are kept from sees them no more, and is missed by its like. */
static void master_lost(struct run *r, const char *what, bool is_killed)
{
    int server = place_master(r->place, any_lock(r));
    struct server *s;

    if (server < 0)
        return;
    s = r->place->servers[server];
    say(r, what, server, "begin");
    is_killed ? kill_server(r, server) : server_pause(s);
    if (r->place->is_hosts) {
        pause_ms(dice_of(&r->seed, 1500));
        place_promote(r->place);
        pause_ms(dice_of(&r->seed, 1500));
    } else {
        pause_ms(2500 + dice_of(&r->seed, 1500));
    }
    if (is_killed)
        restart(r, server);
    place_mend(r->place);
    if (r->place->sentinels)
        pause_ms(4000); /* sentinels allow no other failover before */
    place_mend(r->place);
    say(r, what, server, "end");
}

static void master_killed(struct run *r)
{
    master_lost(r, "master-killed", true);
}

static void master_stopped(struct run *r)
{
    master_lost(r, "master-stopped", false);
}

static void failover(struct run *r)
{
    say(r, "failover", 0, "begin");
    if (r->place->sentinels) {
        (void)sentinels_failover(r->place->sentinels);
        pause_ms(4000);
    } else if (r->place->is_hosts) {
        place_switch(r->place);
    } else {
        int master = cluster_owner_of(r->place->cluster, any_lock(r));

        cluster_failover(r->place->cluster,
                         master < 3 ? master + 3 : master - 3, "");
    }
    say(r, "failover", 0, "end");
}

static void reshard(struct run *r)
{
    struct cluster *c = r->place->cluster;
    const char *name = any_lock(r);
    int slot = hf_slot_of(name, strlen(name)), from = cluster_owner(c, slot);

    say(r, "reshard", from, "begin");
    for (int n = 0; n < 3; n++) {
        int to = cluster_owner(c, HF_SLOTS * n / 3 + HF_SLOTS / 6);

        if (to == from || to < 0)
            continue;
        cluster_move_begin(c, slot, to);
        pause_ms(dice_of(&r->seed, 300));
        (void)cluster_move_keys(c, slot, to, 1 << 30);
        pause_ms(dice_of(&r->seed, 300));
        cluster_move_end(c, slot, to);
        break;
    }
    say(r, "reshard", from, "end");
}

/* ---- operators ---- */

static void operate(struct run *r, const char *what, const char *format,
                    const char *name)
{
    int server = place_master(r->place, name);

    if (server < 0)
        return;
    say(r, what, server, "once");
    (void)server_ask(r->place->servers[server], format, name);
}

static void flushed(struct run *r)
{
    operate(r, "flushall", "FLUSHALL", any_lock(r));
}

static void scripts_flushed(struct run *r)
{
    operate(r, "script-flush", "SCRIPT FLUSH", any_lock(r));
}

static void deleted(struct run *r)
{
    operate(r, "del", "DEL %s", any_lock(r));
}

static void shortened(struct run *r)
{
    operate(r, "pexpire", "PEXPIRE %s 150", any_lock(r));
}

static void full(struct run *r)
{
    int server = place_master(r->place, any_lock(r));
    struct server *s;

    if (server < 0)
        return;
    s = r->place->servers[server];
    say(r, "maxclients", server, "begin");
    (void)server_ask(s, "CONFIG SET maxclients 5");
    each_proxy(r, server, any_side(r), cut);
    a_while(r);
    (void)server_ask(s, "CONFIG SET maxclients 10000");
    say(r, "maxclients", server, "end");
}

/* Another program takes the lock's name for something else, for a while. */
static void retyped(struct run *r)
{
    const char *name = any_lock(r);
    int server = place_master(r->place, name);

    if (server < 0)
        return;
    say(r, "retype", server, "begin");
    (void)server_ask(r->place->servers[server], "SET %s other", name);
    a_while(r);
    server = place_master(r->place, name);
    (void)server_ask(r->place->servers[server], "DEL %s", name);
    say(r, "retype", server, "end");
}

static void set_for_a_while(struct run *r, const char *what, const char *command,
                            const char *undo)
{
    int server = place_master(r->place, any_lock(r));

    if (server < 0)
        return;
    say(r, what, server, "begin");
    (void)server_ask(r->place->servers[server], command);
    a_while(r);
    (void)server_ask(r->place->servers[server], undo);
    say(r, what, server, "end");
}

static void out_of_memory(struct run *r)
{
    set_for_a_while(r, "out-of-memory", "CONFIG SET maxmemory 1",
                    "CONFIG SET maxmemory 0");
}

/* A folder has the name of the file to which the data are saved: each saving fails, as
 * on a full disk, and the server refuses what writes (MISCONF). */
static void save(struct server *s, const char *status)
{
    (void)server_ask(s, "BGSAVE");
    for (int i = 0; i < SAVES_MAX; i++) {
        const char *info = server_ask(s, "INFO persistence");

        if (strstr(info, "rdb_bgsave_in_progress:0") && strstr(info, status))
            return;
        (void)server_ask(s, "BGSAVE"); /* refused while another child runs */
        pause_ms(10);
    }
}

static void disk_full(struct run *r)
{
    int server = place_master(r->place, any_lock(r));
    struct server *s = server < 0 ? NULL : r->place->servers[server];
    char folder[128];

    if (!s)
        return;
    say(r, "disk-full", server, "begin");
    (void)snprintf(folder, sizeof folder, "%s/full", server_folder(s));
    ck_assert(mkdir(folder, 0700) == 0);
    (void)server_ask(s, "CONFIG SET dbfilename full");
    (void)server_ask(s, "CONFIG SET save %s", "3600 1000000");
    save(s, "rdb_last_bgsave_status:err");
    a_while(r);
    ck_assert(rmdir(folder) == 0);
    save(s, "rdb_last_bgsave_status:ok");
    (void)server_ask(s, "CONFIG SET save %s", "");
    (void)server_ask(s, "CONFIG SET dbfilename dump.rdb");
    say(r, "disk-full", server, "end");
}

/* One member of a quorum forgets what it had, while the others have held theirs for long
 * (docs/quorum.md, R3). Not the first server, which has what is no set. */
static void member_emptied(struct run *r)
{
    int server = 1 + (int)dice_of(&r->seed, (uint64_t)r->place->server_count - 1);

    pause_ms(2 * CHAOS_WATCHDOG_MS);
    say(r, "member-emptied", server, "once");
    (void)server_ask(r->place->servers[server], "FLUSHALL");
    run_line(r, "s%d reset lock=" CHAOS_SETS_QUORUM, server + 1);
    pause_ms(2 * CHAOS_WATCHDOG_MS);
}

static void scripts_denied(struct run *r)
{
    set_for_a_while(r, "acl", "ACL SETUSER default -eval -evalsha",
                    "ACL SETUSER default +eval +evalsha");
}

/* It may not have begun when it is killed for the first time. */
static void kill_script(redisContext *runs, redisContext *kills)
{
    struct pollfd fd = {.fd = runs->fd, .events = POLLIN};
    int left = KILLS_MAX;
    void *reply = NULL;

    while (left-- > 0 && poll(&fd, 1, 10) == 0)
        freeReplyObject(redisCommand(kills, "SCRIPT KILL"));
    ck_assert_int_eq(redisGetReply(runs, &reply), REDIS_OK);
    freeReplyObject(reply);
}

/* Somebody's script takes long. Clients are told BUSY after 20 ms. */
static void busy(struct run *r)
{
    int server = place_master(r->place, any_lock(r)), is_sent;
    struct server *s = server < 0 ? NULL : r->place->servers[server];
    redisContext *runs = s ? server_connect(s) : NULL;
    redisContext *kills = s ? server_connect(s) : NULL;

    if (runs && kills) {
        say(r, "busy", server, "begin");
        (void)server_ask(s, "CONFIG SET lua-time-limit 20");
        (void)redisAppendCommand(runs, "EVAL %s 0", "while true do end");
        (void)redisBufferWrite(runs, &is_sent);
        pause_ms(20 + dice_of(&r->seed, 500));
        kill_script(runs, kills);
        (void)server_ask(s, "CONFIG SET lua-time-limit 5000");
        say(r, "busy", server, "end");
    }
    redisFree(runs);
    redisFree(kills);
}

/* ---- clients ---- */

static int any_worker(struct run *r)
{
    return (int)dice_of(&r->seed, RUN_WORKERS);
}

static void client_stopped(struct run *r)
{
    int i = any_worker(r);

    run_stop(r, i);
    a_while(r);
    run_go(r, i);
}

static void client_killed(struct run *r)
{
    int i = any_worker(r);

    run_kill(r, i);
    run_start(r, i);
}

static void client_closed(struct run *r)
{
    int i = any_worker(r);

    run_close(r, i);
    run_start(r, i);
}

/* ---- holdfast run ---- */

/* Of holdfast and its guardian, one at a time: the other one keeps the promise. */
static void stopped_run(struct run *r, const char *what, bool is_guardian)
{
    int64_t ms = 100 + (int64_t)dice_of(&r->seed, 5000);

    run_line(r, "w fault what=%s on=s1 state=begin", what);
    guarded_stopped(r, is_guardian, ms);
    run_line(r, "w fault what=%s on=s1 state=end", what);
}

static void run_stopped(struct run *r)
{
    stopped_run(r, "run-stopped", false);
}

static void guardian_stopped(struct run *r)
{
    stopped_run(r, "guardian-stopped", true);
}

static void run_killed(struct run *r)
{
    run_line(r, "w fault what=run-killed on=s1 state=once");
    guarded_killed(r, false);
}

static void guardian_killed(struct run *r)
{
    run_line(r, "w fault what=guardian-killed on=s1 state=once");
    guarded_killed(r, true);
}

/* ---- all of them ---- */

#define STANDALONE 1
#define SENTINEL 2
#define CLUSTER 4
#define INDEPENDENT 8
#define HOSTS 16
#define REPLICATED (SENTINEL | CLUSTER | HOSTS)
#define LOCKS (STANDALONE | REPLICATED) /* takes data away */
#define ALL (LOCKS | INDEPENDENT)

static struct fault {
    const char *name;
    void (*strike)(struct run *r);
    int places;
    int sides;                  /* of the dice: 1 in so many rounds */
    unsigned done;
} faults[] = {
    {"requests-held", requests_held, ALL, 1, 0},
    {"replies-held", replies_held, ALL, 1, 0},
    {"partition", partition, ALL, 1, 0},
    {"slow-link", slow_link, ALL, 1, 0},
    {"connections-cut", connections_cut, ALL, 1, 0},
    {"cut-in-a-message", cut_in_a_message, ALL, 1, 0},
    {"server-stopped", server_stopped, ALL, 1, 0},
    {"restart", restarted, STANDALONE | INDEPENDENT, 2, 0},
    {"restart-empty", restarted_empty, STANDALONE, 3, 0},
    {"master-killed", master_killed, REPLICATED, 6, 0},
    {"master-stopped", master_stopped, REPLICATED, 6, 0},
    {"failover", failover, REPLICATED, 4, 0},
    {"reshard", reshard, CLUSTER, 1, 0},
    {"flushall", flushed, LOCKS, 4, 0},
    {"script-flush", scripts_flushed, ALL, 1, 0},
    {"del", deleted, LOCKS, 1, 0},
    {"pexpire", shortened, LOCKS, 1, 0},
    {"maxclients", full, ALL, 2, 0},
    {"retype", retyped, LOCKS, 2, 0},
    {"out-of-memory", out_of_memory, ALL, 2, 0},
    {"disk-full", disk_full, ALL, 2, 0},
    {"member-emptied", member_emptied, INDEPENDENT, 3, 0},
    {"acl", scripts_denied, ALL, 2, 0},
    {"busy", busy, ALL, 2, 0},
    {"client-stopped", client_stopped, ALL, 1, 0},
    {"client-killed", client_killed, ALL, 1, 0},
    {"client-closed", client_closed, ALL, 2, 0},
    {"run-stopped", run_stopped, INDEPENDENT, 1, 0},
    {"guardian-stopped", guardian_stopped, INDEPENDENT, 1, 0},
    {"run-killed", run_killed, INDEPENDENT, 1, 0},
    {"guardian-killed", guardian_killed, INDEPENDENT, 1, 0},
};

int faults_count(void)
{
    return (int)(sizeof faults / sizeof *faults);
}

const char *faults_name(int i)
{
    return faults[i].name;
}

unsigned faults_done(int i)
{
    return faults[i].done;
}

bool faults_fit(int i, const struct place *place)
{
    return faults[i].places & (place->is_independent ? INDEPENDENT
                               : place->cluster     ? CLUSTER
                               : place->sentinels ? SENTINEL
                               : place->is_hosts  ? HOSTS
                                                  : STANDALONE);
}

static struct fault *choose(struct run *r)
{
    struct fault *f = NULL;

    for (int i = 0; i < faults_count() && !f; i++) /* none never */
        if (faults_fit(i, r->place) && !faults[i].done)
            f = &faults[i];
    is_hurried = f;
    while (!f) {
        int i = (int)dice_of(&r->seed, (uint64_t)faults_count());

        if (faults_fit(i, r->place) &&
            dice_of(&r->seed, (uint64_t)faults[i].sides) == 0)
            f = &faults[i];
    }
    return f;
}

void faults_one(struct run *r)
{
    struct fault *f = choose(r);

    f->strike(r);
    f->done++;
    if (is_hurried)
        pause_ms(dice_of(&r->seed, 100));
    else
        pause_ms(dice_of(&r->seed, dice_of(&r->seed, 5) == 0 ? 3000 : 400));
}
