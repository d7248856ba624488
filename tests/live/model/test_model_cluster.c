/* The model of a cluster on trial: the same requests go to nodes of it and of a
 * real one, with a slot on the move and then given; each reply must be equal,
 * for the models take the real nodes' ports. */
#include <hiredis/hiredis.h>
#include <string.h>

#include "tests/live/model/test_model.h"
#include "tests/sim/model/cluster.h"
#include "tests/support/cluster.h"
#include "tests/support/dice.h"
#include "tests/support/suite.h"
#include "tests/support/witness.h"

#define NODES 3
#define STEPS 600

static struct cluster *real;
static struct model_cluster *mesh;
static struct side {
    struct model *model;
    struct model_node *node;
    struct model_client *client;
    redisReader *replies;
} sides[NODES];

/* The first three are of the slot that moves. */
static const char *const keys[] = {"{m}a", "{m}b", "{m}c", "{n}d", "{n}e", "f"};

/* Each has two keys, whether it uses them or not. */
static const char *const commands[] = {
    "GET %s",
    "SET %s 1",
    "DEL %s",
    "EXISTS %s %s",
    "MGET %s %s",
    "DEL %s %s",
    "MSET %s 1 %s 2",
    "PING",
    "PUBLISH %s hello",
    "SPUBLISH %s hello",
    "CLUSTER KEYSLOT %s",
};

static const char *const scripts[] = {
    "return redis.call('exists', KEYS[1])",
    ("redis.call('set', KEYS[1], 1) redis.call('del', KEYS[1]) return "
     "redis.call('exists', KEYS[1])"),
    "redis.call('del', KEYS[2]) return redis.call('get', KEYS[1])",
    "return redis.call('spublish', KEYS[1], 'hello')",
    "return redis.call('publish', KEYS[1], 'hello')",
};

/* What must have been said, or the trial was none. */
static const char *const refusals[] = {
    "(error) MOVED ", "(error) ASK ", "(error) TRYAGAIN ", "(error) CROSSSLOT ",
    "(error) ERR Script attempted to access a non local key"};
static int refused[ROWS(refusals)];

static void count_refusals(const char *reply)
{
    for (size_t i = 0; i < ROWS(refusals); i++)
        refused[i] += strncmp(reply, refusals[i], strlen(refusals[i])) == 0;
}

/* ---- asking both ---- */

static void on_write(void *ctx, const char *bytes, size_t len)
{
    struct side *side = ctx;

    ck_assert_int_eq(redisReaderFeed(side->replies, bytes, len), REDIS_OK);
}

static void on_close(void *ctx)
{
    (void)ctx;
    ck_abort_msg("the model has closed the connection");
}

static void on_published(void *ctx, struct model *from,
                         struct model_text channel, struct model_text payload,
                         bool is_shard)
{
    (void)ctx, (void)from, (void)channel, (void)payload, (void)is_shard;
}

static char *ask_model(struct side *side, char *request, int len)
{
    void *reply = NULL;
    char *text;

    model_feed(side->client, request, (size_t)len);
    redisFreeCommand(request);
    ck_assert_int_eq(redisReaderGetReply(side->replies, &reply), REDIS_OK);
    ck_assert_ptr_nonnull(reply);
    text = witness_text(reply);
    freeReplyObject(reply);
    return text;
}

static void ask_both(int node, const char *format, const char *a, const char *b,
                     const char *c)
{
    char *request, *ours;
    const char *theirs = server_ask(cluster_node(real, node), format, a, b, c);
    int len = redisFormatCommand(&request, format, a, b, c);

    ours = ask_model(&sides[node], request, len);
    ck_assert_msg(
        strcmp(ours, theirs) == 0,
        "node %d, %s (%s, %s, %s): the model says '%s', the node '%s'", node,
        format, a, b, c, ours, theirs);
    count_refusals(ours);
    free(ours);
}

static void ask_something(void)
{
    int node = (int)dice(NODES);
    const char *a = keys[dice(ROWS(keys))], *b = keys[dice(ROWS(keys))];

    if (dice(3) == 0)
        ask_both(node, "ASKING", "", "", "");
    if (dice(2))
        ask_both(node, commands[dice(ROWS(commands))], a, b, "");
    else if (dice(2))
        ask_both(node, "EVAL %s 1 %s", scripts[dice(2)], a, "");
    else
        ask_both(node, "EVAL %s 2 %s %s", scripts[dice(ROWS(scripts))], a, b);
}

/* ---- the two clusters ---- */

static void join(int i)
{
    struct side *side = &sides[i];

    side->model = model_new(
        &(struct model_options){.version = MODEL_REDIS_7_0,
                                .host = "127.0.0.1",
                                .port = server_port(cluster_node(real, i))});
    side->node = model_cluster_join(mesh, side->model, NULL);
    model_set_time(side->model, INT64_C(1700000000000000));
    side->replies = redisReaderCreate();
    side->client = model_accept(side->model, on_write, on_close, side);
}

static void learn_all(void)
{
    for (int i = 0; i < NODES; i++)
        model_cluster_learn(sides[i].node);
}

static void start(void)
{
    real = cluster_start(&(struct cluster_options){.masters = NODES});
    mesh = model_cluster_new(on_published, NULL);
    for (int i = 0; i < NODES; i++)
        join(i);
    for (size_t i = 0; i < ROWS(keys); i++) {
        unsigned slot = model_cluster_slot(keys[i], strlen(keys[i]));

        model_cluster_assign(mesh, slot, slot,
                             sides[cluster_owner(real, (int)slot)].node);
    }
    learn_all();
}

static void stop(void)
{
    for (int i = 0; i < NODES; i++) {
        model_free(sides[i].model);
        redisReaderFree(sides[i].replies);
    }
    model_cluster_free(mesh);
    cluster_stop(real);
}

/* ---- the trial ---- */

static void forget_all(void)
{
    for (int i = 0; i < NODES; i++)
        ask_both(i, "FLUSHALL", "", "", "");
}

START_TEST(commands_are_routed_as_by_real_nodes)
{
    unsigned slot = model_cluster_slot(keys[0], strlen(keys[0]));
    int from = cluster_owner(real, (int)slot), to = (from + 1) % NODES;

    for (int i = 0; i < STEPS; i++)
        ask_something();
    cluster_move_begin(real, (int)slot, to);
    model_cluster_open(slot, sides[from].node, sides[to].node);
    for (int i = 0; i < 3 * STEPS; i++)
        ask_something();
    forget_all();
    cluster_move_end(real, (int)slot, to);
    model_cluster_assign(mesh, slot, slot, sides[to].node);
    learn_all();
    for (int i = 0; i < STEPS; i++)
        ask_something();
    for (size_t i = 0; i < ROWS(refusals); i++)
        ck_assert_msg(refused[i] > 0, "nobody has said %s", refusals[i]);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("live: model of a cluster");
    TCase *t = tcase_create("routing");

    if (!server_is_installed() || !twins_are_alike() ||
        twins_version() != MODEL_REDIS_7_0) {
        (void)puts("skipped: words are those of Redis 7.0");
        return 77;
    }
    tcase_add_checked_fixture(t, start, stop);
    tcase_set_timeout(t, 60);
    tcase_add_test(t, commands_are_routed_as_by_real_nodes);
    suite_add_tcase(s, t);
    return suite_run(s);
}
