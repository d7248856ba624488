/* Slots and their nodes; where a command is served. */
#include "tests/sim/model/cluster.h"

#include <stdio.h>
#include <stdlib.h>

#include "tests/sim/model/inner.h"

enum { NOBODY = MODEL_NODES_MAX };

/* The cluster, as it is or as a node sees it. */
struct view {
    uint16_t owner[MODEL_SLOTS];      /* an index; NOBODY */
    uint16_t master[MODEL_NODES_MAX]; /* of each node; its own: it is one */
    int64_t claim[MODEL_NODES_MAX];  /* the epoch of a master's slots */
    int64_t epoch;
};

struct model_node {
    struct model_cluster *cluster;
    struct model *m;
    uint16_t index;
    char id[41];
    struct view view;
    bool is_down;
    /* One slot at a time is on the move; -1: none. */
    int migrating, importing;
    struct model_node *other; /* where `migrating` goes to */
    uint8_t announces[MODEL_NODES_MAX]; /* of each node: enum model_announced */
};

struct model_cluster {
    struct view truth;
    struct model_node *nodes[MODEL_NODES_MAX];
    uint16_t count;
    model_cluster_published_fn *published;
    void *ctx;
    bool has_nat;
    uint64_t told[MODEL_ANNOUNCED][2]; /* [1]: by redirections */
    uint64_t told_old;
};

/* ---- slots ---- */

/* CRC16-CCITT (XMODEM). Source: CLUSTER, appendix A. */
static uint16_t crc_of_byte(unsigned byte)
{
    unsigned crc = byte << 8;

    for (int bit = 0; bit < 8; bit++)
        crc = (crc & 0x8000 ? crc << 1 ^ 0x1021 : crc << 1) & 0xffff;
    return (uint16_t)crc;
}

static unsigned crc16(const char *p, size_t n)
{
    static uint16_t table[256]; /* table[1] is not 0 */
    unsigned crc = 0;

    if (table[1] == 0)
        for (unsigned i = 0; i < 256; i++)
            table[i] = crc_of_byte(i);
    for (size_t i = 0; i < n; i++)
        crc = (crc << 8 & 0xffff) ^ table[crc >> 8 ^ (unsigned char)p[i]];
    return crc;
}

unsigned model_cluster_slot(const char *key, size_t len)
{
    const char *open = memchr(key, '{', len);
    size_t rest = open ? len - (size_t)(open + 1 - key) : 0;
    const char *close = open ? memchr(open + 1, '}', rest) : NULL;

    if (close && close > open + 1)
        return crc16(open + 1, (size_t)(close - open - 1)) % MODEL_SLOTS;
    return crc16(key, len) % MODEL_SLOTS;
}

struct model *model_cluster_owner(const struct model_cluster *cl, unsigned slot)
{
    return cl->nodes[cl->truth.owner[slot]]->m;
}

/* ---- where a command is served ---- */

/* What a request says of its slot. */
struct request {
    int slot;        /* -1: it has no keys */
    bool is_channel; /* sharded: there is no key to be missed */
    bool crosses, has_many;
    int missing, existing;
};

static bool is_sharded_pubsub(const struct call *c)
{
    return strcmp(c->command->name, "spublish") == 0 ||
           strcmp(c->command->name, "ssubscribe") == 0 ||
           strcmp(c->command->name, "sunsubscribe") == 0;
}

static bool is_there(const struct call *c, struct slice key)
{
    const struct entry *e = md_find(c->db, key);

    return e && !md_is_expired(c->m, e);
}

static struct request request_of(const struct call *c)
{
    struct request q = {.slot = -1, .is_channel = is_sharded_pubsub(c)};
    int first = -1, at;

    for (int i = 0;
         (at = md_key_position(c->command, c->argv, c->argc, i)) >= 0; i++) {
        struct slice key = c->argv[at];
        int slot = (int)model_cluster_slot(key.p, key.n);

        if (first < 0)
            first = at;
        q.crosses |= q.slot >= 0 && q.slot != slot;
        q.has_many |= !md_same(key, c->argv[first]);
        q.slot = slot;
        if (is_there(c, key))
            q.existing++;
        else
            q.missing++;
    }
    if (q.is_channel)
        q.missing = q.existing = 0;
    return q;
}

/* ---- addresses ---- */

struct address {
    char host[64];
    const char *ip; /* beside it; NULL: none */
    int port;
    bool is_null;
};

static bool has_metadata(const struct model_node *node)
{
    return node->m->options.version != MODEL_REDIS_6_0;
}

static void own_host(struct address *a, const struct model_node *about)
{
    if (about->cluster->has_nat)
        (void)snprintf(a->host, sizeof a->host, MODEL_INNER_IP, about->index + 1);
    else
        (void)snprintf(a->host, sizeof a->host, "%s", about->m->host);
}

static void write_host(struct address *a, const struct model_node *about, uint8_t how)
{
    static const char *const hosts[MODEL_ANNOUNCED] = {
        [MODEL_NULL_HOST] = "",
        [MODEL_EMPTY_HOST] = "",
        [MODEL_ANY_HOST] = "0.0.0.0",
        [MODEL_UNKNOWN_HOST] = "?",
    };

    if (hosts[how])
        (void)snprintf(a->host, sizeof a->host, "%s", hosts[how]);
    else if (how == MODEL_OLD_HOST)
        (void)snprintf(a->host, sizeof a->host, MODEL_OLD_IP, about->index + 1);
    else if (how == MODEL_LOST_NAME)
        (void)snprintf(a->host, sizeof a->host, "lost%d", about->index + 1);
    else
        own_host(a, about);
}

/* Servers before 7.0 have neither names nor other endpoints than addresses. */
static uint8_t can_announce(const struct model_node *by, uint8_t how)
{
    if (has_metadata(by))
        return how;
    return how == MODEL_LOST_NAME ? MODEL_OLD_HOST
           : how == MODEL_UNKNOWN_HOST || how == MODEL_NULL_HOST ? MODEL_EMPTY_HOST
                                                                 : how;
}

/* `ip` is what a->ip points to. */
static struct address address_of(const struct model_node *by, const struct model_node *about,
                                 struct address *ip, bool is_redirection)
{
    struct model_cluster *cl = by->cluster;
    uint8_t how = can_announce(by, by->announces[about->index]);
    const struct model_node *shown =
        how == MODEL_OTHER_NODE ? cl->nodes[(about->index + 1) % cl->count] : about;
    struct address a = {.port = shown->m->options.port, .is_null = how == MODEL_NULL_HOST};

    cl->told[how][is_redirection]++;
    write_host(&a, shown, how);
    own_host(ip, about);
    if (how == MODEL_UNKNOWN_HOST || how == MODEL_LOST_NAME)
        a.ip = ip->host;
    a.port += how == MODEL_OLD_PORT;
    return a;
}

void model_cluster_announce(struct model_node *by, const struct model_node *about,
                            enum model_announced how)
{
    by->announces[about->index] = (uint8_t)how;
}

void model_cluster_set_nat(struct model_cluster *cl)
{
    cl->has_nat = true;
}

static uint64_t take(uint64_t *count)
{
    uint64_t taken = *count;

    *count = 0;
    return taken;
}

uint64_t model_cluster_told(struct model_cluster *cl, enum model_announced how,
                            bool is_redirection)
{
    return take(&cl->told[how][is_redirection]);
}

uint64_t model_cluster_told_old(struct model_cluster *cl)
{
    return take(&cl->told_old);
}

uint64_t model_cluster_told_nat(struct model_cluster *cl)
{
    return cl->has_nat ? take(&cl->told[MODEL_ITS_ADDRESS][false]) : 0;
}

static bool moved(struct call *c, const char *how, int slot, const struct model_node *by,
                  const struct model_node *to)
{
    struct address ip, a = address_of(by, to, &ip, true);

    md_error(c, "%s %d %s:%d", how, slot, a.host, a.port);
    return true;
}

static bool refuse(struct call *c, const char *text)
{
    md_error(c, "%s", text);
    return true;
}

#define TRYAGAIN "TRYAGAIN Multiple keys request during rehashing of slot"

/* Since 7.0, of several keys of which some have gone. */
static bool is_torn(const struct call *c, const struct request *q)
{
    return q->existing > 0 && c->m->options.version != MODEL_REDIS_6_0;
}

/* Replies, and returns true, if it is not served here. */
static bool redirect(struct model_node *node, struct call *c,
                     const struct request *q)
{
    uint16_t owner = node->view.owner[q->slot];
    bool is_mine = owner == node->index;
    bool may_read =
        (c->client->reads_replica && !(c->command->flags & C_WRITE)) ||
        q->is_channel;

    if (owner == NOBODY)
        return refuse(c, "CLUSTERDOWN Hash slot not served");
    if (q->crosses)
        return refuse(c,
                      "CROSSSLOT Keys in request don't hash to the same slot");
    if (node->is_down && !q->is_channel)
        return refuse(c, "CLUSTERDOWN The cluster is down");
    if (is_mine && node->migrating == q->slot && q->missing > 0)
        return is_torn(c, q) ? refuse(c, TRYAGAIN)
                             : moved(c, "ASK", q->slot, node, node->other);
    if (!is_mine && node->importing == q->slot && c->client->is_asking)
        return q->has_many && q->missing > 0 && refuse(c, TRYAGAIN);
    if (is_mine || (may_read && node->view.master[node->index] == owner))
        return false;
    return moved(c, "MOVED", q->slot, node, node->cluster->nodes[owner]);
}

static bool before(void *ctx, struct call *c)
{
    struct request q = request_of(c);
    struct bytes *out = c->out;
    size_t said = out->n;

    if (q.slot < 0 || !redirect(ctx, c, &q))
        return false;
    if (!c->script)
        return true;
    out->n = said;
    return refuse(c,
                  c->m->options.version == MODEL_REDIS_6_0
                      ? "ERR Lua script attempted to access a non local key "
                        "in a cluster node"
                      : "ERR Script attempted to access a non local key in a "
                        "cluster node");
}

/* ---- what a node says ---- */

static struct model_node *of(const struct call *c)
{
    return c->m->topology.ctx;
}

static void put_node(struct call *c, const struct model_node *n)
{
    bool has_more = has_metadata(of(c));
    struct address ip, a = address_of(of(c), n, &ip, false);

    md_array(c, 3 + has_more);
    if (a.is_null)
        md_null(c);
    else
        md_bulk_text(c, a.host);
    md_int(c, a.port);
    md_bulk_text(c, n->id);
    if (has_more)
        md_map(c, a.ip != NULL);
    if (has_more && a.ip) {
        md_bulk_text(c, "ip");
        md_bulk_text(c, a.ip);
    }
}

static void put_range(struct call *c, unsigned first, unsigned last)
{
    const struct model_node *node = of(c);
    const struct model_cluster *cl = node->cluster;
    uint16_t owner = node->view.owner[first];
    size_t count = 0;

    for (uint16_t i = 0; i < cl->count; i++)
        count += node->view.master[i] == owner;
    md_array(c, 2 + count);
    md_int(c, first);
    md_int(c, last);
    put_node(c, cl->nodes[owner]);
    for (uint16_t i = 0; i < cl->count; i++)
        if (i != owner && node->view.master[i] == owner)
            put_node(c, cl->nodes[i]);
}

/* Slots that one memcmp compares. */
#define STRETCH 256

/* The last slot of the range that begins at `first`. */
static unsigned end_of_range(const struct view *v, unsigned first)
{
    unsigned last = first;

    while (last + 1 + STRETCH <= MODEL_SLOTS &&
           memcmp(v->owner + last, v->owner + last + 1, STRETCH * sizeof *v->owner) == 0)
        last += STRETCH;
    while (last + 1 < MODEL_SLOTS && v->owner[last + 1] == v->owner[first])
        last++;
    return last;
}

static void run_slots(struct call *c)
{
    struct model_cluster *cl = of(c)->cluster;
    const struct view *v = &of(c)->view;
    size_t count = 0;

    cl->told_old += memcmp(v->owner, cl->truth.owner, sizeof v->owner) != 0;
    for (int pass = 0; pass < 2; pass++) {
        if (pass)
            md_array(c, count);
        for (unsigned at = 0; at < MODEL_SLOTS; at++) {
            unsigned first = at;

            at = end_of_range(v, first);
            count += v->owner[first] != NOBODY;
            if (pass && v->owner[first] != NOBODY)
                put_range(c, first, at);
        }
    }
}

static int masters_of(const struct model_node *node)
{
    bool has_slots[MODEL_NODES_MAX + 1] = {false};
    int count = 0;

    for (unsigned i = 0; i < MODEL_SLOTS; i++) {
        has_slots[node->view.owner[i]] = true;
        i = end_of_range(&node->view, i);
    }
    for (int i = 0; i < MODEL_NODES_MAX; i++)
        count += has_slots[i];
    return count;
}

static void run_info(struct call *c)
{
    const struct model_node *node = of(c);
    struct bytes text = {NULL, 0, 0};

    md_printf(&text,
              "cluster_state:%s\r\ncluster_slots_assigned:16384\r\n"
              "cluster_known_nodes:%d\r\ncluster_size:%d\r\n"
              "cluster_current_epoch:%lld\r\ncluster_my_epoch:%lld\r\n",
              node->is_down ? "fail" : "ok", node->cluster->count,
              masters_of(node), (long long)node->view.epoch,
              (long long)node->view.claim[node->view.master[node->index]]);
    if (c->protocol == 3)
        md_printf(c->out, "=%zu\r\ntxt:%.*s\r\n", text.n + 4, (int)text.n,
                  text.p);
    else
        md_bulk(c, (struct slice){text.p, text.n});
    md_bytes_free(&text);
}

static void run_myid(struct call *c)
{
    md_bulk_text(c, of(c)->id);
}

static void run_keyslot(struct call *c)
{
    md_int(c, model_cluster_slot(c->argv[2].p, c->argv[2].n));
}

static void run_asking(struct call *c)
{
    c->client->is_asking = true;
    md_ok(c);
}

static void run_readonly(struct call *c)
{
    c->client->reads_replica = strcmp(c->command->name, "readonly") == 0;
    md_ok(c);
}

static const struct command cluster_sub[] = {
    {"slots", 2, C_LOADING, .run = run_slots},
    {"info", 2, C_LOADING, .run = run_info},
    {"myid", 2, C_LOADING, .run = run_myid},
    {"keyslot", 3, C_LOADING, .run = run_keyslot},
    {.name = NULL},
};

static const struct command commands[] = {
    {"cluster", -2, C_LOADING, .sub = cluster_sub},
    {"asking", 1, 0, .run = run_asking},
    {"readonly", 1, C_LOADING, .run = run_readonly},
    {"readwrite", 1, C_LOADING, .run = run_readonly},
    {.name = NULL},
};

/* ---- nodes ---- */

struct model_cluster *model_cluster_new(model_cluster_published_fn *published,
                                        void *ctx)
{
    struct model_cluster *cl = md_alloc(sizeof *cl);

    cl->published = published;
    cl->ctx = ctx;
    for (int i = 0; i < MODEL_SLOTS; i++)
        cl->truth.owner[i] = NOBODY;
    return cl;
}

void model_cluster_free(struct model_cluster *cl)
{
    for (uint16_t i = 0; cl && i < cl->count; i++)
        free(cl->nodes[i]);
    free(cl);
}

static void published(void *ctx, struct slice channel, struct slice payload,
                      bool is_shard)
{
    const struct model_node *node = ctx;

    node->cluster->published(
        node->cluster->ctx, node->m, (struct model_text){channel.p, channel.n},
        (struct model_text){payload.p, payload.n}, is_shard);
}

struct model_node *model_cluster_join(struct model_cluster *cl, struct model *m,
                                      struct model_node *master)
{
    struct model_node *n = md_alloc(sizeof *n);
    struct topology t = {.ctx = n,
                         .commands = commands,
                         .before = before,
                         .published = published,
                         .mode = "cluster"};

    *n = (struct model_node){.cluster = cl,
                             .m = m,
                             .index = cl->count++,
                             .migrating = -1,
                             .importing = -1};
    (void)snprintf(n->id, sizeof n->id, "%s", m->run_id);
    cl->nodes[n->index] = n;
    cl->truth.master[n->index] = master ? master->index : n->index;
    cl->truth.claim[n->index] = n->index + 1;
    cl->truth.epoch = n->index + 1;
    md_set_topology(m, &t);
    return n;
}

void model_cluster_assign(struct model_cluster *cl, unsigned first,
                          unsigned last, const struct model_node *node)
{
    for (unsigned i = first; i <= last; i++)
        cl->truth.owner[i] = node->index;
    cl->truth.claim[node->index] = ++cl->truth.epoch;
}

/* ---- learning ---- */

static bool is_of_its_shard(const struct model_node *n, const struct view *v,
                            unsigned slot)
{
    return v->owner[slot] == v->master[n->index];
}

struct lesson {
    const struct model_node *node;
    struct view was;
};

/* Its shard had the slot, and another node has it now: of its shard, perhaps.
 */
static bool has_gone(void *ctx, struct slice channel)
{
    const struct lesson *l = ctx;
    unsigned slot = model_cluster_slot(channel.p, channel.n);

    return is_of_its_shard(l->node, &l->was, slot) &&
           l->node->view.owner[slot] != l->was.owner[slot];
}

static void settle_slots(struct model_node *n)
{
    if (n->migrating >= 0 && n->view.owner[n->migrating] != n->index)
        n->migrating = -1;
    if (n->importing >= 0 && n->view.owner[n->importing] == n->index)
        n->importing = -1;
}

void model_cluster_learn(struct model_node *n)
{
    struct lesson lesson = {.node = n, .was = n->view};

    n->view = n->cluster->truth;
    n->is_down = false;
    settle_slots(n);
    md_drop_shard_channels(n->m, has_gone, &lesson);
    md_flush(n->m);
}

void model_cluster_promote(struct model_node *n)
{
    struct view *v = &n->cluster->truth;
    uint16_t old = v->master[n->index];

    for (int i = 0; i < MODEL_SLOTS; i++)
        if (v->owner[i] == old)
            v->owner[i] = n->index;
    for (uint16_t i = 0; i < n->cluster->count; i++)
        if (v->master[i] == old)
            v->master[i] = n->index;
    v->claim[n->index] = ++v->epoch;
}

void model_cluster_set_down(struct model_node *n)
{
    n->is_down = true;
}

/* ---- a slot on the move ---- */

void model_cluster_open(unsigned slot, struct model_node *from,
                        struct model_node *to)
{
    from->migrating = to->importing = (int)slot;
    from->other = to;
}

static struct entry *key_of_slot(struct model *m, unsigned slot)
{
    struct entry *e = m->dbs[0].oldest;

    while (e && model_cluster_slot(e->key->p, e->key->n) != slot)
        e = e->newer;
    return e;
}

/* Of a list and of a sorted set. */
static void tell_replicas_of_queue(struct model *m, const struct entry *e)
{
    struct call c = {.m = m, .db = &m->dbs[0]};
    bool is_list = e->type == MODEL_LIST;
    struct slice argv[4] = {md_text(is_list ? "RPUSH" : "ZADD"), md_slice(e->key)};
    struct model_text member, value;

    if (!is_list && e->type != MODEL_ZSET)
        return;
    for (size_t i = 0;
         model_at(m, 0, e->key->p, e->key->n, i, &member, &value); i++) {
        argv[2] = (struct slice){value.p, value.n};
        argv[3] = (struct slice){member.p, member.n};
        md_effect(&c, argv, is_list ? 3 : 4);
    }
}

/* What RESTORE does, in words that replicas of all ages know. */
static void tell_replicas(struct model *m, const struct entry *e)
{
    struct call c = {.m = m, .db = &m->dbs[0]};
    struct slice argv[4] = {md_text("HSET"), md_slice(e->key)};
    char at_ms[24];

    md_effect_words(&c, "DEL", argv[1], NULL, NULL);
    for (size_t i = 0; e->type == MODEL_HASH && i < e->as.hash.n; i++) {
        argv[2] = md_slice(e->as.hash.at[i].name);
        argv[3] = md_slice(e->as.hash.at[i].value);
        md_effect(&c, argv, 4);
    }
    tell_replicas_of_queue(m, e);
    argv[0] = md_text("SET");
    argv[2] = e->type == MODEL_STRING ? md_slice(e->as.string) : argv[2];
    if (e->type == MODEL_STRING)
        md_effect(&c, argv, 3);
    (void)md_format(at_ms, e->expires_ms);
    if (e->expires_ms >= 0)
        md_effect_words(&c, "PEXPIREAT", argv[1], at_ms, NULL);
}

bool model_cluster_move_key(unsigned slot, struct model_node *from,
                            struct model_node *to)
{
    struct entry *e = key_of_slot(from->m, slot);
    struct keyspace *db = &to->m->dbs[0];
    struct entry *there;

    if (!e)
        return false;
    if ((there = md_find(db, md_slice(e->key))))
        md_remove(db, there);
    there = md_make(db, md_slice(e->key), e->type);
    md_copy_value(db, there, e);
    md_changed(to->m, 0, md_slice(e->key), MODEL_BY_REPLICATION, "restore");
    tell_replicas(to->m, there);
    md_tell_changes(to->m);
    md_send_effects(to->m);
    return model_delete(from->m, 0, there->key->p, there->key->n);
}

/* ---- messages ---- */

void model_cluster_hear(struct model_node *n, struct model_text channel,
                        struct model_text payload, bool is_shard)
{
    (void)md_publish(n->m, (struct slice){channel.p, channel.n},
                     (struct slice){payload.p, payload.n}, is_shard);
    md_flush(n->m);
}
