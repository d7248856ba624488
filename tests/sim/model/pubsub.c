/* Channels, plain and sharded. Patterns are not modelled. */
#include "tests/sim/model/inner.h"

#include <stdlib.h>

static struct channel *find(const struct model *m, struct slice name,
                            bool is_shard)
{
    uint64_t hash = md_hash(name, 0);

    for (size_t i = 0; i < m->channel_n; i++) {
        struct channel *ch = &m->channels[i];

        if (ch->hash == hash && ch->is_shard == is_shard &&
            md_same(md_slice(ch->name), name))
            return ch;
    }
    return NULL;
}

static struct channel *make(struct model *m, struct slice name, bool is_shard)
{
    struct channel *ch;

    m->channels = md_grow(m->channels, m->channel_n, &m->channel_room,
                          sizeof *m->channels);
    ch = &m->channels[m->channel_n++];
    *ch = (struct channel){.name = md_blob(name), .hash = md_hash(name, 0),
                           .is_shard = is_shard};
    return ch;
}

static bool has(const struct channel *ch, const struct model_client *c)
{
    for (size_t i = 0; i < ch->n; i++)
        if (ch->clients[i] == c)
            return true;
    return false;
}

static int *count_of(struct model_client *c, bool is_shard)
{
    return is_shard ? &c->shard_channels : &c->channels;
}

static void enter(struct model *m, struct model_client *c, struct slice name,
                  bool is_shard)
{
    struct channel *ch = find(m, name, is_shard);

    if (!ch)
        ch = make(m, name, is_shard);
    if (has(ch, c))
        return;
    ch->clients =
        md_grow(ch->clients, ch->n, &ch->room, sizeof *ch->clients);
    ch->clients[ch->n++] = c;
    ++*count_of(c, is_shard);
}

static void drop_channel(struct model *m, struct channel *ch)
{
    free(ch->name);
    free(ch->clients);
    m->channel_n--;
    memmove(ch, ch + 1,
            (size_t)(m->channels + m->channel_n - ch) * sizeof *ch);
}

/* The channel itself goes with its last client. */
static void leave(struct model *m, struct channel *ch, struct model_client *c)
{
    size_t n = 0;

    for (size_t i = 0; i < ch->n; i++)
        if (ch->clients[i] != c)
            ch->clients[n++] = ch->clients[i];
    if (n == ch->n)
        return;
    ch->n = n;
    --*count_of(c, ch->is_shard);
    if (n == 0)
        drop_channel(m, ch);
}

void md_unsubscribe_all(struct model_client *c)
{
    struct model *m = c->m;

    for (size_t i = m->channel_n; i-- > 0;)
        if (has(&m->channels[i], c))
            leave(m, &m->channels[i], c);
}

/* ---- messages ---- */

static void confirm(struct model_client *c, const char *verb,
                    const struct slice *name, int count)
{
    md_push(&c->out, c->protocol, 3);
    md_put_bulk(&c->out, md_text(verb));
    if (name)
        md_put_bulk(&c->out, *name);
    else
        md_add_text(&c->out, c->protocol == 3 ? "_\r\n" : "$-1\r\n");
    md_put_int(&c->out, count);
}

/* A client that publishes to itself gets the message before its reply; since
 * Redis 7.2, and from Valkey, behind it. */
static struct bytes *output_of(struct model_client *c)
{
    return c == c->m->current && c->m->options.version == MODEL_VALKEY_9
               ? &c->m->to_self
               : &c->out;
}

int md_publish(struct model *m, struct slice channel, struct slice payload,
               bool is_shard)
{
    struct channel *ch = find(m, channel, is_shard);
    int n = ch ? (int)ch->n : 0;

    for (int i = 0; i < n; i++) {
        struct bytes *out = output_of(ch->clients[i]);

        md_push(out, ch->clients[i]->protocol, 3);
        md_put_bulk(out, md_text(is_shard ? "smessage" : "message"));
        md_put_bulk(out, channel);
        md_put_bulk(out, payload);
    }
    if (m->observer.on_publish)
        m->observer.on_publish(m->observer.ctx, m, channel.p, channel.n,
                               payload.p, payload.n, n);
    return n;
}

void md_drop_shard_channels(struct model *m,
                            bool (*gone)(void *ctx, struct slice channel),
                            void *ctx)
{
    for (size_t i = m->channel_n; i-- > 0;) {
        struct channel *ch = &m->channels[i];
        struct slice name = md_slice(ch->name);

        if (!ch->is_shard || !gone(ctx, name))
            continue;
        for (size_t k = 0; k < ch->n; k++)
            confirm(ch->clients[k], "sunsubscribe", &name,
                    --ch->clients[k]->shard_channels);
        drop_channel(m, ch);
    }
}

/* ---- commands ---- */

static void enter_all(struct call *c, bool is_shard)
{
    for (int i = 1; i < c->argc; i++) {
        enter(c->m, c->client, c->argv[i], is_shard);
        confirm(c->client, is_shard ? "ssubscribe" : "subscribe", &c->argv[i],
                *count_of(c->client, is_shard));
    }
}

static void leave_one(struct call *c, struct slice name, bool is_shard)
{
    struct channel *ch = find(c->m, name, is_shard);
    struct blob *copy = md_blob(name);
    struct slice said = md_slice(copy);

    if (ch)
        leave(c->m, ch, c->client);
    confirm(c->client, is_shard ? "sunsubscribe" : "unsubscribe", &said,
            *count_of(c->client, is_shard));
    free(copy);
}

static void leave_every(struct call *c, bool is_shard)
{
    bool any = false;

    for (size_t i = 0; i < c->m->channel_n;) {
        struct channel *ch = &c->m->channels[i];
        size_t before = c->m->channel_n;

        if (ch->is_shard == is_shard && has(ch, c->client)) {
            any = true;
            leave_one(c, md_slice(ch->name), is_shard);
        }
        i += c->m->channel_n == before;
    }
    if (!any)
        confirm(c->client, is_shard ? "sunsubscribe" : "unsubscribe", NULL, 0);
}

static void leave_named(struct call *c, bool is_shard)
{
    if (c->argc == 1)
        leave_every(c, is_shard);
    for (int i = 1; i < c->argc; i++)
        leave_one(c, c->argv[i], is_shard);
}

static void run_subscribe(struct call *c)
{
    enter_all(c, false);
}

static void run_ssubscribe(struct call *c)
{
    enter_all(c, true);
}

static void run_unsubscribe(struct call *c)
{
    leave_named(c, false);
}

static void run_sunsubscribe(struct call *c)
{
    leave_named(c, true);
}

/* Messages go to replicas, too; in a cluster to all nodes. */
static void publish(struct call *c, bool is_shard)
{
    const struct topology *t = &c->m->topology;

    md_int(c, md_publish(c->m, c->argv[1], c->argv[2], is_shard));
    c->changed = !t->published;
    if (t->published)
        t->published(t->ctx, c->argv[1], c->argv[2], is_shard);
}

static void run_publish(struct call *c)
{
    publish(c, false);
}

static void run_spublish(struct call *c)
{
    publish(c, true);
}

static void count_subscribers(struct call *c, bool is_shard)
{
    md_array(c, 2 * (size_t)(c->argc - 2));
    for (int i = 2; i < c->argc; i++) {
        const struct channel *ch = find(c->m, c->argv[i], is_shard);

        md_bulk(c, c->argv[i]);
        md_int(c, ch ? (int64_t)ch->n : 0);
    }
}

static void run_numsub(struct call *c)
{
    count_subscribers(c, false);
}

static void run_shardnumsub(struct call *c)
{
    count_subscribers(c, true);
}

static void list_channels(struct call *c, bool is_shard)
{
    struct slice pattern = c->argc > 2 ? c->argv[2] : md_text("*");
    size_t n = 0;

    for (int pass = 0; pass < 2; pass++) {
        if (pass)
            md_array(c, n);
        for (size_t i = 0; i < c->m->channel_n; i++) {
            const struct channel *ch = &c->m->channels[i];

            if (ch->is_shard != is_shard ||
                !md_glob(pattern, md_slice(ch->name)))
                continue;
            if (pass)
                md_bulk(c, md_slice(ch->name));
            n++;
        }
    }
}

static void run_channels(struct call *c)
{
    list_channels(c, false);
}

static void run_shardchannels(struct call *c)
{
    list_channels(c, true);
}

static const struct command pubsub_sub[] = {
    {"numsub", -2, C_LOADING, .run = run_numsub},
    {"shardnumsub", -2, C_LOADING, .run = run_shardnumsub, .since = 70},
    {"channels", -2, C_LOADING, .run = run_channels},
    {"shardchannels", -2, C_LOADING, .run = run_shardchannels, .since = 70},
    {.name = NULL},
};

#define SUBSCRIBES (C_NO_SCRIPT | C_LOADING | C_SUBSCRIBED | C_CHANNEL)

const struct command md_pubsub_commands[] = {
    {"publish", 3, C_LOADING | C_CHANNEL, .run = run_publish},
    {"spublish", 3, C_LOADING | C_CHANNEL, 1, 1, 1, .run = run_spublish, .since = 70},
    {"subscribe", -2, SUBSCRIBES, .run = run_subscribe},
    {"unsubscribe", -1, SUBSCRIBES & ~C_CHANNEL, .run = run_unsubscribe},
    {"ssubscribe", -2, SUBSCRIBES, 1, -1, 1, .run = run_ssubscribe, .since = 70},
    {"sunsubscribe", -1, SUBSCRIBES & ~C_CHANNEL, 1, -1, 1,
     .run = run_sunsubscribe,
     .since = 70},
    {"pubsub", -2, 0, .sub = pubsub_sub},
    {.name = NULL},
};
