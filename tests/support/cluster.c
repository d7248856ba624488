/* A real cluster that the test owns. */
#include "tests/support/cluster.h"

#include <check.h>
#include <hiredis/hiredis.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/local.h"

#define SLOTS 16384
#define ID_ROOM 48
#define NODE_TIMEOUT_MS 1000

/* Between two questions while a change is awaited that nobody announces. */
#define ASK_AGAIN_US 5000

/* How long a server keeps a failover that was asked for (CLUSTER_MF_TIMEOUT),
 * and a little more. */
#define FAILOVER_MS 5500

/* Longer than a handshake is remembered. */
#define MEET_AGAIN_MS (2 * NODE_TIMEOUT_MS)

#define KEYS_AT_ONCE 100
#define MIGRATE_TIMEOUT_MS "5000"

struct cluster {
    int count;
    int masters;
    int replicas;
    struct server *nodes[CLUSTER_NODES_MAX];
    char ids[CLUSTER_NODES_MAX][ID_ROOM];
};

/* ---- waiting ---- */

static int64_t patience(void)
{
    return local_now_ms() + CLUSTER_PATIENCE_MS;
}

static bool is_running(const struct cluster *c, int node)
{
    return server_is_running(c->nodes[node]);
}

/* What each node says of the cluster, for a person who reads a failure. */
static void print_views(struct cluster *c)
{
    for (int i = 0; i < c->count; i++) {
        if (!is_running(c, i)) {
            (void)printf("cluster: node %d (%s) does not run\n", i, c->ids[i]);
            continue;
        }
        (void)printf("cluster: node %d (%s) says:\n%s", i, c->ids[i],
                     server_ask(c->nodes[i], "CLUSTER NODES"));
        (void)printf("%s\n", server_ask(c->nodes[i], "CLUSTER INFO"));
    }
    (void)fflush(stdout);
}

/* One more question is allowed until the deadline has passed. */
static void rest(struct cluster *c, int64_t deadline_ms, const char *what,
                 int node)
{
    if (local_now_ms() >= deadline_ms) {
        print_views(c);
        ck_abort_msg("cluster: node %d, after %d ms: %s", node,
                     CLUSTER_PATIENCE_MS, what);
    }
    local_rest_us(ASK_AGAIN_US);
}

static void must_be_ok(int node, const char *answer, const char *asked)
{
    if (strcmp(answer, "OK") != 0)
        ck_abort_msg("cluster: node %d answers to %s: %s", node, asked, answer);
}

/* ---- what a node says ---- */

static int node_of_id(const struct cluster *c, const char *id)
{
    for (int i = 0; i < c->count; i++)
        if (strncmp(c->ids[i], id, strlen(c->ids[i])) == 0)
            return i;
    return -1;
}

/* Words of a line of CLUSTER NODES: id, address, flags, master, two times,
 * epoch, link; then slots, "5" or "5-9", and slots on the move in brackets. */
#define FLAGS 2
#define MASTER 3
#define FIRST_RANGE 8

static const char *word_of(const char *line, int index)
{
    while (index-- > 0) {
        line += strcspn(line, " \n");
        if (*line != ' ')
            return "";
        line++;
    }
    return line;
}

static const char *next_line(const char *line)
{
    line += strcspn(line, "\n");
    return *line ? line + 1 : line;
}

static bool line_has_slot(const char *line, int slot)
{
    int first, last;

    for (int i = FIRST_RANGE; *word_of(line, i); i++) {
        const char *word = word_of(line, i);

        if (*word == '[')
            continue;
        if (sscanf(word, "%d-%d", &first, &last) == 1)
            last = first;
        if (first <= slot && slot <= last)
            return true;
    }
    return false;
}

static const char *nodes_of(struct cluster *c, int node)
{
    return server_ask(c->nodes[node], "CLUSTER NODES");
}

int cluster_view(struct cluster *c, int node, int slot)
{
    const char *line = nodes_of(c, node);

    for (; *line; line = next_line(line))
        if (line_has_slot(line, slot))
            return node_of_id(c, line);
    return -1;
}

/* Does `node` know all others, each as what it is meant to be at the start? */
static bool knows_all(struct cluster *c, int node)
{
    const char *line = nodes_of(c, node);
    int known = 0;

    for (; *line; line = next_line(line)) {
        int who = node_of_id(c, line);
        int master = who < c->masters || c->replicas == 0
                         ? -1
                         : (who - c->masters) / c->replicas;

        if (who < 0 || strncmp(word_of(line, FLAGS), "handshake", 9) == 0)
            return false;
        if (node_of_id(c, word_of(line, MASTER)) != master)
            return false;
        known++;
    }
    return known == c->count;
}

static bool has_state(struct cluster *c, int node, const char *state)
{
    char line[64];

    (void)snprintf(line, sizeof line, "cluster_state:%s\r\n", state);
    return strstr(server_ask(c->nodes[node], "CLUSTER INFO"), line) != NULL;
}

/* ---- agreement ---- */

/* Of one node, in a view: its master and its slots, but for those on the move. */
static void write_role(FILE *out, const char *line)
{
    for (int i = MASTER; *word_of(line, i); i++) {
        const char *word = word_of(line, i);

        if (*word != '[' && (i == MASTER || i >= FIRST_RANGE))
            (void)fprintf(out, "%.*s ", (int)strcspn(word, " \n"), word);
    }
    (void)fputc('\n', out);
}

/* What `node` takes the cluster for, for free(): every node's role, in our
 * order, and the epoch that it has heard of. */
static char *opinion_of(struct cluster *c, int node)
{
    const char *nodes = nodes_of(c, node);
    const char *info = server_ask(c->nodes[node], "CLUSTER INFO");
    const char *epoch = strstr(info, "cluster_current_epoch:");
    char *text = NULL;
    size_t len;
    FILE *out = open_memstream(&text, &len);

    ck_assert(out && epoch);
    for (int i = 0; i < c->count; i++)
        for (const char *line = nodes; *line; line = next_line(line))
            if (node_of_id(c, line) == i)
                write_role(out, line);
    (void)fprintf(out, "%.*s", (int)strcspn(epoch, "\r"), epoch);
    (void)fclose(out);
    return text;
}

static bool is_agreed(struct cluster *c)
{
    char *first = NULL;
    bool is_same = true;

    for (int i = 0; i < c->count && is_same; i++) {
        char *opinion = is_running(c, i) ? opinion_of(c, i) : NULL;

        is_same = !opinion || !first || strcmp(opinion, first) == 0;
        if (!first)
            first = opinion;
        else
            free(opinion);
    }
    free(first);
    return is_same;
}

void cluster_await_agreement(struct cluster *c)
{
    int64_t deadline_ms = patience();

    while (!is_agreed(c))
        rest(c, deadline_ms, "and others do not agree", 0);
}

void cluster_await_state(struct cluster *c, int node, const char *state)
{
    int64_t deadline_ms = patience();

    while (!has_state(c, node, state))
        rest(c, deadline_ms, state, node);
}

void cluster_await_ok(struct cluster *c)
{
    for (int i = 0; i < c->count; i++)
        if (is_running(c, i))
            cluster_await_state(c, i, "ok");
}

static int first_running(const struct cluster *c)
{
    for (int i = 0; i < c->count; i++)
        if (is_running(c, i))
            return i;
    ck_abort_msg("cluster: no node runs");
    return -1;
}

int cluster_owner(struct cluster *c, int slot)
{
    return cluster_view(c, first_running(c), slot);
}

int cluster_owner_of(struct cluster *c, const char *key)
{
    int node = first_running(c);
    long long slot =
        server_ask_int(c->nodes[node], "CLUSTER KEYSLOT %s", key);

    return cluster_view(c, node, (int)slot);
}

void cluster_await_owner(struct cluster *c, int slot, int owner)
{
    int64_t deadline_ms = patience();

    for (int i = 0; i < c->count; i++)
        while (is_running(c, i) && cluster_view(c, i, slot) != owner)
            rest(c, deadline_ms, "knows another owner of the slot", i);
}

/* ---- starting ---- */

static bool start_nodes(struct cluster *c, const struct cluster_options *o)
{
    char timeout[16];
    const char *args[64] = {
        "--cluster-enabled", "yes", "--cluster-node-timeout", timeout,
        "--cluster-migration-barrier", "99", /* replicas stay where they are */
        "--repl-diskless-sync-delay", "0",
    };
    int argc = 8;

    (void)snprintf(timeout, sizeof timeout, "%d",
                   o->node_timeout_ms ? o->node_timeout_ms : NODE_TIMEOUT_MS);
    for (int i = 0; o->args && o->args[i]; i++) {
        ck_assert_int_lt(argc, 63);
        args[argc++] = o->args[i];
    }
    for (int i = 0; i < c->count; i++) {
        c->nodes[i] = server_start(args);
        if (!c->nodes[i])
            return false;
        (void)snprintf(c->ids[i], ID_ROOM, "%s",
                       server_ask(c->nodes[i], "CLUSTER MYID"));
    }
    return true;
}

/* One command of thousands of words; ADDSLOTSRANGE came with 7.0. */
static void add_slots(struct cluster *c, int node, int from, int to)
{
    char *text = local_new(20 + (size_t)(to - from) * 6), *at = text;
    redisContext *r = server_connect(c->nodes[node]);
    redisReply *reply;

    ck_assert_ptr_nonnull(r);
    at += sprintf(at, "CLUSTER ADDSLOTS");
    for (int slot = from; slot < to; slot++)
        at += sprintf(at, " %d", slot);
    reply = redisCommand(r, text);
    ck_assert_ptr_nonnull(reply);
    must_be_ok(node, reply->str, "CLUSTER ADDSLOTS");
    freeReplyObject(reply);
    redisFree(r);
    free(text);
}

/* Epochs of their own, so that none need be agreed upon. */
static void prepare_node(struct cluster *c, int node)
{
    must_be_ok(node,
               server_ask(c->nodes[node], "CLUSTER SET-CONFIG-EPOCH %d",
                          node + 1),
               "SET-CONFIG-EPOCH");
    if (node < c->masters)
        add_slots(c, node, SLOTS * node / c->masters,
                  SLOTS * (node + 1) / c->masters);
}

static bool knows(struct cluster *c, int node, int other)
{
    const char *line = nodes_of(c, node);

    while (*line && node_of_id(c, line) != other)
        line = next_line(line);
    return *line && strncmp(word_of(line, FLAGS), "handshake", 9) != 0;
}

static void introduce(struct cluster *c, int node, int other)
{
    if (!knows(c, node, other))
        must_be_ok(node,
                   server_ask(c->nodes[node], "CLUSTER MEET 127.0.0.1 %d",
                              server_port(c->nodes[other])),
                   "MEET");
}

/* A node forgets a handshake that was not answered within the node timeout, which happens
 * on a machine that stalls: then the two are introduced again. */
static void await_introduced(struct cluster *c, int node, int other, int64_t deadline_ms)
{
    int64_t again_ms = local_now_ms() + MEET_AGAIN_MS;

    while (!knows(c, node, other)) {
        if (local_now_ms() >= again_ms) {
            introduce(c, node, other);
            again_ms = local_now_ms() + MEET_AGAIN_MS;
        }
        rest(c, deadline_ms, "does not know another", node);
    }
}

/* Each with each: hearsay takes seconds. */
static void introduce_nodes(struct cluster *c)
{
    int64_t deadline_ms = patience();

    for (int i = 0; i < c->count; i++)
        for (int j = 0; j < i; j++)
            introduce(c, i, j);
    for (int i = 0; i < c->count; i++)
        for (int j = 0; j < c->count; j++)
            if (j != i)
                await_introduced(c, i, j, deadline_ms);
}

/* Refused until it knows its master. */
static void make_replica(struct cluster *c, int node, int master)
{
    int64_t deadline_ms = patience();

    while (strcmp(server_ask(c->nodes[node], "CLUSTER REPLICATE %s",
                             c->ids[master]),
                  "OK") != 0)
        rest(c, deadline_ms, "cannot become a replica", node);
}

/* Replicas are listed only once they have replicated something, and others
 * heard of it. */
static bool lists_all(struct cluster *c, int node)
{
    const char *slots = server_ask(c->nodes[node], "CLUSTER SLOTS");

    for (int i = 0; i < c->count; i++)
        if (!strstr(slots, c->ids[i]))
            return false;
    return true;
}

static void await_data(struct cluster *c, int replica)
{
    int64_t deadline_ms = patience();

    while (!strstr(server_ask(c->nodes[replica], "INFO replication"),
                   "master_link_status:up"))
        rest(c, deadline_ms, "has not got its master's data", replica);
}

static void await_all(struct cluster *c)
{
    int64_t deadline_ms = patience();

    for (int i = 0; i < c->count; i++)
        while (!knows_all(c, i))
            rest(c, deadline_ms, "does not know all others", i);
    for (int i = c->masters; i < c->count; i++)
        await_data(c, i);
    cluster_await_ok(c);
    for (int i = 0; i < c->masters; i++)
        must_be_ok(i, server_ask(c->nodes[i], "FLUSHALL"), "FLUSHALL");
    for (int i = 0; i < c->count; i++)
        while (!lists_all(c, i))
            rest(c, deadline_ms, "does not list all others", i);
    cluster_await_agreement(c);
}

static void join_nodes(struct cluster *c)
{
    for (int i = 0; i < c->count; i++)
        prepare_node(c, i);
    introduce_nodes(c);
    for (int m = 0; m < c->masters; m++)
        for (int i = 0; i < c->replicas; i++)
            make_replica(c, cluster_replica(c, m, i), m);
    await_all(c);
}

struct cluster *cluster_start(const struct cluster_options *options)
{
    struct cluster *c = local_new(sizeof *c);

    c->masters = options->masters;
    c->replicas = options->replicas;
    c->count = c->masters * (1 + c->replicas);
    ck_assert_int_le(c->count, CLUSTER_NODES_MAX);
    if (!start_nodes(c, options)) {
        cluster_stop(c);
        return NULL;
    }
    if (!options->is_bare)
        join_nodes(c);
    return c;
}

void cluster_stop(struct cluster *c)
{
    if (!c)
        return;
    for (int i = 0; i < c->count; i++)
        server_stop(c->nodes[i]);
    free(c);
}

/* ---- its nodes ---- */

int cluster_count(const struct cluster *c)
{
    return c->count;
}

struct server *cluster_node(const struct cluster *c, int node)
{
    ck_assert_int_ge(node, 0);
    ck_assert_int_lt(node, c->count);
    return c->nodes[node];
}

int cluster_replica(const struct cluster *c, int master, int index)
{
    ck_assert_int_lt(index, c->replicas);
    return c->masters + master * c->replicas + index;
}

const char *cluster_id(const struct cluster *c, int node)
{
    return c->ids[node];
}

void cluster_mend(struct cluster *c)
{
    int64_t deadline_ms = patience();

    for (int i = 0; i < c->count; i++)
        if (!server_pid(c->nodes[i]))
            server_restart(c->nodes[i]);
        else
            server_resume(c->nodes[i]);
    for (int i = 0; i < c->count; i++)
        while (strstr(nodes_of(c, i), "fail"))
            rest(c, deadline_ms, "takes another for failed", i);
    cluster_await_ok(c);
    cluster_await_agreement(c);
}

/* ---- failover ---- */

static bool is_master_for(struct cluster *c, int node, int who)
{
    const char *line = nodes_of(c, node);

    for (; *line; line = next_line(line))
        if (node_of_id(c, line) == who)
            return *word_of(line, MASTER) == '-' && *word_of(line, FIRST_RANGE);
    return false;
}

/* The old master takes part in it (but for `how`), and does so only for a node that
 * it takes for its replica. */
static void ask_for_failover(struct cluster *c, int replica, const char *how)
{
    if (!*how)
        await_data(c, replica);
    must_be_ok(replica,
               *how ? server_ask(c->nodes[replica], "CLUSTER FAILOVER %s", how)
                    : server_ask(c->nodes[replica], "CLUSTER FAILOVER"),
               "CLUSTER FAILOVER");
}

/* Redis 7.0 counts the votes of the last four node timeouts again, so that a node
 * may win under an old epoch. The others do not follow it then, and nothing that
 * they send to each other changes that. A new epoch does. */
static void take_new_epoch(struct cluster *c, int node)
{
    const char *answer = server_ask(c->nodes[node], "CLUSTER BUMPEPOCH");

    (void)printf("cluster: node %d has no followers: CLUSTER BUMPEPOCH: %s\n",
                 node, answer);
}

static bool has_taken_over(struct cluster *c, int replica)
{
    return is_master_for(c, replica, replica) && is_agreed(c);
}

/* An election can be lost, and nobody tells: it is asked for again. */
void cluster_failover(struct cluster *c, int replica, const char *how)
{
    int64_t deadline_ms = patience();

    cluster_await_agreement(c);
    while (!has_taken_over(c, replica)) {
        int64_t again_ms = local_now_ms() + FAILOVER_MS;

        if (is_master_for(c, replica, replica))
            take_new_epoch(c, replica);
        else
            ask_for_failover(c, replica, how);
        while (!has_taken_over(c, replica) && local_now_ms() < again_ms)
            rest(c, deadline_ms, "does not become a master for all", replica);
    }
}

/* ---- slots on the move ---- */

static void set_slot(struct cluster *c, int node, int slot, const char *what,
                     int other)
{
    must_be_ok(node,
               server_ask(c->nodes[node], "CLUSTER SETSLOT %d %s %s", slot,
                          what, c->ids[other]),
               "CLUSTER SETSLOT");
}

void cluster_move_begin(struct cluster *c, int slot, int to)
{
    int from = cluster_owner(c, slot);

    set_slot(c, to, slot, "IMPORTING", from);
    set_slot(c, from, slot, "MIGRATING", to);
}

/* MIGRATE with the keys of a GETKEYSINSLOT's reply behind it. */
static void migrate(struct cluster *c, redisContext *from, int to,
                    const redisReply *keys)
{
    const char *argv[7 + KEYS_AT_ONCE] = {
        "MIGRATE", "127.0.0.1", NULL, "", "0", MIGRATE_TIMEOUT_MS, "KEYS"};
    size_t lens[7 + KEYS_AT_ONCE];
    char port[16];
    redisReply *reply;

    (void)snprintf(port, sizeof port, "%d", server_port(c->nodes[to]));
    argv[2] = port;
    for (int i = 0; i < 7; i++)
        lens[i] = strlen(argv[i]);
    for (size_t i = 0; i < keys->elements; i++) {
        argv[7 + i] = keys->element[i]->str;
        lens[7 + i] = keys->element[i]->len;
    }
    reply = redisCommandArgv(from, 7 + (int)keys->elements, argv, lens);
    ck_assert_ptr_nonnull(reply);
    if (strcmp(reply->str, "NOKEY") != 0) /* all of them have expired by now */
        must_be_ok(to, reply->str, "MIGRATE");
    freeReplyObject(reply);
}

int cluster_move_keys(struct cluster *c, int slot, int to, int count)
{
    redisContext *from = server_connect(c->nodes[cluster_owner(c, slot)]);
    int moved = 0, wanted;

    ck_assert_ptr_nonnull(from);
    while ((wanted = count - moved) > 0) {
        redisReply *keys =
            redisCommand(from, "CLUSTER GETKEYSINSLOT %d %d", slot,
                         wanted < KEYS_AT_ONCE ? wanted : KEYS_AT_ONCE);
        int found;

        ck_assert_ptr_nonnull(keys);
        found = (int)keys->elements;
        if (found > 0)
            migrate(c, from, to, keys);
        freeReplyObject(keys);
        moved += found;
        if (found == 0)
            break;
    }
    redisFree(from);
    return moved;
}

/* First at the new owner: its claim must be the newer one when the old owner
 * lets go. Only masters are told: replicas refuse it, and hear of it. */
void cluster_move_end(struct cluster *c, int slot, int to)
{
    int from = cluster_owner(c, slot);

    set_slot(c, to, slot, "NODE", to);
    set_slot(c, from, slot, "NODE", to);
    for (int i = 0; i < c->count; i++)
        if (i != to && i != from && is_running(c, i) &&
            strstr(server_ask(c->nodes[i], "ROLE"), "master"))
            set_slot(c, i, slot, "NODE", to);
    cluster_await_agreement(c);
}

void cluster_move_stop(struct cluster *c, int slot, int to)
{
    int ends[] = {cluster_owner(c, slot), to};

    for (int i = 0; i < 2; i++)
        must_be_ok(ends[i],
                   server_ask(c->nodes[ends[i]], "CLUSTER SETSLOT %d STABLE",
                              slot),
                   "SETSLOT STABLE");
}

void cluster_move(struct cluster *c, int slot, int to)
{
    cluster_move_begin(c, slot, to);
    (void)cluster_move_keys(c, slot, to, 1 << 30);
    cluster_move_end(c, slot, to);
}
