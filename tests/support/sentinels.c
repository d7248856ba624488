/* Real sentinels that the test owns, and the servers that they watch. */
#include "tests/support/sentinels.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/local.h"

#define ASK_AGAIN_US 10000
#define ARGS_MAX 32

struct sentinels {
    int servers;
    int sentinels;
    struct server *server[SENTINELS_MAX];
    struct server *sentinel[SENTINELS_MAX];
};

/* ---- waiting ---- */

static int64_t patience(void)
{
    return local_now_ms() + SENTINELS_PATIENCE_MS;
}

static void rest(int64_t deadline_ms, const char *what, int index)
{
    if (local_now_ms() >= deadline_ms)
        ck_abort_msg("sentinels: number %d, after %d ms: %s", index,
                     SENTINELS_PATIENCE_MS, what);
    local_rest_us(ASK_AGAIN_US);
}

static void must_be_ok(const char *answer, const char *asked)
{
    if (strcmp(answer, "OK") != 0)
        ck_abort_msg("sentinels: the answer to %s: %s", asked, answer);
}

/* ---- starting ---- */

static struct server *start_one(const char *const *ours,
                                const char *const *theirs)
{
    const char *args[ARGS_MAX] = {NULL};
    int argc = 0;

    for (; *ours; ours++)
        args[argc++] = *ours;
    for (; theirs && *theirs; theirs++) {
        ck_assert_int_lt(argc, ARGS_MAX - 1);
        args[argc++] = *theirs;
    }
    return server_start(args);
}

static bool start_servers(struct sentinels *s,
                          const struct sentinels_options *o)
{
    const char *ours[] = {"--repl-diskless-sync-delay", "0",
                          NULL, NULL, NULL, NULL};
    char port[16];

    for (int i = 0; i < s->servers; i++) {
        s->server[i] = start_one(ours, o->server_args);
        if (!s->server[i])
            return false;
        if (i > 0)
            continue;
        (void)snprintf(port, sizeof port, "%d", server_port(s->server[0]));
        ours[2] = "--replicaof"; /* the others */
        ours[3] = "127.0.0.1";
        ours[4] = port;
    }
    return true;
}

static void set_option(struct server *sentinel, const char *name, int value,
                       int by_default)
{
    must_be_ok(server_ask(sentinel, "SENTINEL SET %s %s %d", SENTINELS_NAME,
                          name, value ? value : by_default),
               name);
}

static void start_sentinel(struct sentinels *s, int index,
                           const struct sentinels_options *o)
{
    static const char *const ours[] = {"--sentinel", NULL};
    struct server *sentinel = start_one(ours, o->sentinel_args);

    ck_assert_ptr_nonnull(sentinel);
    s->sentinel[index] = sentinel;
    must_be_ok(server_ask(sentinel, "SENTINEL MONITOR %s 127.0.0.1 %d %d",
                          SENTINELS_NAME, server_port(s->server[0]),
                          o->quorum ? o->quorum : s->sentinels / 2 + 1),
               "SENTINEL MONITOR");
    set_option(sentinel, "down-after-milliseconds", o->down_after_ms, 1000);
    set_option(sentinel, "failover-timeout", o->failover_timeout_ms, 3000);
}

/* Redis 7 counts replicas as "num-slaves", as all before and Valkey do. */
static bool knows_all(struct sentinels *s, int index)
{
    const char *master = server_ask(s->sentinel[index], "SENTINEL MASTER %s",
                                    SENTINELS_NAME);
    char replicas[32], sentinels[48];

    (void)snprintf(replicas, sizeof replicas, "num-slaves %d ",
                   s->servers - 1);
    (void)snprintf(sentinels, sizeof sentinels, "num-other-sentinels %d ",
                   s->sentinels - 1);
    return strstr(master, replicas) && strstr(master, sentinels);
}

static void await_all(struct sentinels *s)
{
    int64_t deadline_ms = patience();

    for (int i = 1; i < s->servers; i++)
        while (!strstr(server_ask(s->server[i], "INFO replication"),
                       "master_link_status:up"))
            rest(deadline_ms, "has not got its master's data", i);
    for (int i = 0; i < s->sentinels; i++)
        while (!knows_all(s, i))
            rest(deadline_ms, "does not know all others", i);
}

struct sentinels *sentinels_start(const struct sentinels_options *options)
{
    struct sentinels *s = local_new(sizeof *s);

    s->servers = 1 + options->replicas;
    s->sentinels = options->sentinels;
    ck_assert_int_le(s->servers, SENTINELS_MAX);
    ck_assert_int_le(s->sentinels, SENTINELS_MAX);
    if (!start_servers(s, options)) {
        sentinels_stop(s);
        return NULL;
    }
    for (int i = 0; i < s->sentinels; i++)
        start_sentinel(s, i, options);
    await_all(s);
    return s;
}

/* Sentinels first: they would begin a failover. */
void sentinels_stop(struct sentinels *s)
{
    if (!s)
        return;
    for (int i = 0; i < SENTINELS_MAX; i++)
        server_stop(s->sentinel[i]);
    for (int i = 0; i < SENTINELS_MAX; i++)
        server_stop(s->server[i]);
    free(s);
}

/* ---- asking ---- */

struct server *sentinels_server(const struct sentinels *s, int index)
{
    ck_assert(index >= 0 && index < s->servers);
    return s->server[index];
}

struct server *sentinels_sentinel(const struct sentinels *s, int index)
{
    ck_assert(index >= 0 && index < s->sentinels);
    return s->sentinel[index];
}

int sentinels_view(struct sentinels *s, int index)
{
    const char *address =
        server_ask(s->sentinel[index], "SENTINEL GET-MASTER-ADDR-BY-NAME %s",
                   SENTINELS_NAME);
    char ours[32];

    for (int i = 0; i < s->servers; i++) {
        (void)snprintf(ours, sizeof ours, "127.0.0.1 %d",
                       server_port(s->server[i]));
        if (strcmp(address, ours) == 0)
            return i;
    }
    return -1;
}

int sentinels_master(struct sentinels *s)
{
    for (int i = 0; i < s->sentinels; i++)
        if (server_is_running(s->sentinel[i]))
            return sentinels_view(s, i);
    ck_abort_msg("sentinels: none runs");
    return -1;
}

void sentinels_await_master(struct sentinels *s, int server)
{
    int64_t deadline_ms = patience();

    for (int i = 0; i < s->sentinels; i++)
        while (server_is_running(s->sentinel[i]) &&
               sentinels_view(s, i) != server)
            rest(deadline_ms, "takes another for the master", i);
    while (strncmp(server_ask(s->server[server], "ROLE"), "master", 6) != 0)
        rest(deadline_ms, "does not take itself for the master", server);
}

/* Refused (-NOGOODSLAVE, -INPROG) for a moment after the start, or another. */
int sentinels_failover(struct sentinels *s)
{
    int64_t deadline_ms = patience();
    int old = sentinels_master(s);

    while (strcmp(server_ask(s->sentinel[0], "SENTINEL FAILOVER %s",
                             SENTINELS_NAME),
                  "OK") != 0)
        rest(deadline_ms, "does not begin a failover", 0);
    while (sentinels_view(s, 0) == old)
        rest(deadline_ms, "ends no failover", 0);
    sentinels_await_master(s, sentinels_master(s));
    return sentinels_master(s);
}
