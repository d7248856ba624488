/* Replication: a master's effects as a stream of requests; replicas that
 * acknowledge; WAIT. */
#include "tests/sim/model/inner.h"

#include <stdlib.h>

struct model_link {
    struct model_link *next;
    struct model *master;
    struct model *replica;
    model_stream_fn *stream;
    void *ctx;
    int64_t acked;
};

/* ---- what a master gives ---- */

static void put_select(struct model *m, int db)
{
    char number[24];
    struct slice argv[2] = {md_text("SELECT"),
                            {number, md_format(number, db)}};

    if (m->effect_db != db)
        md_put_request(&m->effects, argv, 2);
    m->effect_db = db;
}

void md_effect(struct call *c, const struct slice *argv, int argc)
{
    struct model *m = c->m;

    c->has_effect = true;
    if (!m->has_backlog || m->is_replica)
        return;
    put_select(m, (int)(c->db - m->dbs));
    md_put_request(&m->effects, argv, argc);
    m->effect_n++;
}

void md_effect_words(struct call *c, const char *verb, struct slice key,
                     const char *a, const char *b)
{
    struct slice argv[4] = {md_text(verb), key};
    int argc = 2;

    if (a)
        argv[argc++] = md_text(a);
    if (b)
        argv[argc++] = md_text(b);
    md_effect(c, argv, argc);
}

static void give(struct model *m, const char *p, size_t n)
{
    m->offset += (int64_t)n;
    for (struct model_link *l = m->links; l; l = l->next)
        l->stream(l->ctx, p, n);
}

/* Replicas execute what one command or script did at once, or not at all. */
void md_send_effects(struct model *m)
{
    static const struct slice multi = {"MULTI", 5}, exec = {"EXEC", 4};

    if (m->effect_n == 0)
        return;
    m->scratch.n = 0;
    if (m->effect_n > 1)
        md_put_request(&m->scratch, &multi, 1);
    md_add(&m->scratch, m->effects.p, m->effects.n);
    if (m->effect_n > 1)
        md_put_request(&m->scratch, &exec, 1);
    m->effects.n = 0;
    m->effect_n = 0;
    give(m, m->scratch.p, m->scratch.n);
}

/* ---- links ---- */

static void copy_data(struct model *to, const struct model *from)
{
    for (int i = 0; i < MD_DATABASES; i++) {
        for (struct entry *e = to->dbs[i].oldest; e; e = e->newer)
            md_changed(to, i, md_slice(e->key), MODEL_BY_REPLICATION, "");
        md_clear(&to->dbs[i]);
        for (struct entry *e = from->dbs[i].oldest; e; e = e->newer) {
            md_copy_value(&to->dbs[i],
                          md_make(&to->dbs[i], md_slice(e->key), e->type), e);
            md_changed(to, i, md_slice(e->key), MODEL_BY_REPLICATION, "");
        }
    }
    md_tell_changes(to);
}

void model_copy(struct model *m, const struct model *from)
{
    copy_data(m, from);
}

static void write_nothing(void *ctx, const char *bytes, size_t len)
{
    (void)ctx, (void)bytes, (void)len;
}

static void close_nothing(void *ctx)
{
    (void)ctx;
}

/* The master's stream comes as from a client that may do everything. */
static void make_stream(struct model *m)
{
    int limit = m->options.maxclients;

    if (m->stream)
        md_free_client(m->stream);
    m->options.maxclients = limit + m->client_count + 1;
    m->stream = model_accept(m, write_nothing, close_nothing, NULL);
    m->options.maxclients = limit;
    m->stream->is_master = true;
    m->stream->is_authenticated = true;
}

struct model_link *model_follow(struct model *replica, struct model *master,
                                model_stream_fn *stream, void *ctx)
{
    struct model_link *l = md_alloc(sizeof *l);

    md_replication_free(replica);
    *l = (struct model_link){.next = master->links, .master = master,
                             .replica = replica, .stream = stream, .ctx = ctx,
                             .acked = master->offset};
    master->links = l;
    master->has_backlog = replica->has_backlog = true;
    master->effect_db = -1;
    replica->is_replica = true;
    replica->master = master;
    replica->offset = master->offset;
    memcpy(replica->replication_id, master->replication_id,
           sizeof replica->replication_id);
    replica->former_id[0] = '\0';
    replica->unexecuted = 0;
    copy_data(replica, master);
    make_stream(replica);
    return l;
}

void model_unfollow(struct model_link *link)
{
    struct model_link **at = &link->master->links;

    while (*at != link)
        at = &(*at)->next;
    *at = link->next;
    link->replica->master = NULL;
    free(link);
}

static struct model_link *link_of(const struct model *replica)
{
    struct model_link *l = replica->master ? replica->master->links : NULL;

    while (l && l->replica != replica)
        l = l->next;
    return l;
}

/* Its link to a master, those to its replicas, and the stream. */
void md_replication_free(struct model *m)
{
    struct model_link *up = link_of(m);

    if (up)
        model_unfollow(up);
    while (m->links)
        model_unfollow(m->links);
    if (m->stream)
        md_free_client(m->stream);
    m->stream = NULL;
}

void model_promote(struct model *m)
{
    struct model_link *up = link_of(m);

    if (up)
        model_unfollow(up);
    if (m->stream)
        md_free_client(m->stream);
    m->stream = NULL;
    if (m->is_replica)
        md_new_history(m);
    m->is_replica = false;
}

/* Of a real server, those that wait are told so, and closed. */
static void end_waits(struct model *m)
{
    static const char words[] = "-UNBLOCKED force unblock from blocking operation, "
                                "instance state changed (master -> replica?)\r\n";

    for (struct model_client *c = m->clients.next; c != &m->clients; c = c->next)
        if (c->is_blocked) {
            c->is_blocked = false;
            md_add(&c->out, words, sizeof words - 1);
            c->is_closing = true;
        }
    if (!m->is_frozen)
        md_flush(m);
}

void model_demote(struct model *m)
{
    bool was_master = !m->is_replica;

    m->is_replica = true;
    if (was_master)
        end_waits(m);
}

bool model_is_master(const struct model *m)
{
    return !m->is_replica;
}

/* ---- what a replica does ---- */

/* Bytes count when they are executed: a request, or all from MULTI to EXEC. */
void model_apply(struct model *replica, const char *bytes, size_t len)
{
    struct model_client *stream = replica->stream;

    if (!stream)
        return;
    replica->unexecuted += (int64_t)len;
    model_feed(stream, bytes, len);
    if (stream->is_in_multi || replica->is_frozen)
        return;
    replica->offset += replica->unexecuted - (int64_t)stream->in.n;
    replica->unexecuted = (int64_t)stream->in.n;
}

int64_t model_offset(const struct model *replica)
{
    return replica->offset;
}

/* ---- WAIT ---- */

int64_t md_replicas_at(const struct model *m, int64_t offset)
{
    int64_t n = 0;

    for (const struct model_link *l = m->links; l; l = l->next)
        n += l->acked >= offset;
    return n;
}

void md_check_waits(struct model *m)
{
    for (struct model_client *c = m->clients.next; c != &m->clients;
         c = c->next) {
        int64_t n = c->is_blocked ? md_replicas_at(m, c->wait_offset) : 0;

        if (c->is_blocked && n >= c->wait_replicas)
            md_unblock(c, n);
    }
}

void model_ack(struct model_link *link, int64_t offset)
{
    if (offset > link->acked)
        link->acked = offset;
    if (link->master->is_frozen)
        return;
    md_check_waits(link->master);
    md_flush(link->master);
}

/* ---- what it tells of itself ---- */

static size_t count_links(const struct model *m)
{
    size_t n = 0;

    for (const struct model_link *l = m->links; l; l = l->next)
        n++;
    return n;
}

static void put_number(struct call *c, int64_t n)
{
    char text[24];

    (void)md_format(text, n);
    md_bulk_text(c, text);
}

static void master_role(struct call *c)
{
    md_array(c, 3);
    md_bulk_text(c, "master");
    md_int(c, c->m->offset);
    md_array(c, count_links(c->m));
    for (const struct model_link *l = c->m->links; l; l = l->next) {
        md_array(c, 3);
        md_bulk_text(c, l->replica->host);
        put_number(c, l->replica->options.port);
        put_number(c, l->acked);
    }
}

void md_put_role(struct call *c)
{
    const struct model *up = c->m->master;

    if (!c->m->is_replica) {
        master_role(c);
        return;
    }
    md_array(c, 5);
    md_bulk_text(c, "slave");
    md_bulk_text(c, up ? up->host : "127.0.0.1");
    md_int(c, up ? up->options.port : 0);
    md_bulk_text(c, up ? "connected" : "connect");
    md_int(c, up ? c->m->offset : -1);
}

static void put_replicas(const struct model *m, struct bytes *out)
{
    int i = 0;

    md_printf(out, "connected_slaves:%zu\r\n", count_links(m));
    for (const struct model_link *l = m->links; l; l = l->next)
        md_printf(out, "slave%d:ip=%s,port=%d,state=online,offset=%lld,lag=0"
                       "\r\n",
                  i++, l->replica->host, l->replica->options.port,
                  (long long)l->acked);
}

void md_put_replication_info(const struct model *m, struct bytes *out)
{
    static const char none[] = "0000000000000000000000000000000000000000";

    md_printf(out, "role:%s\r\n", m->is_replica ? "slave" : "master");
    if (m->is_replica)
        md_printf(out,
                  "master_host:%s\r\nmaster_port:%d\r\n"
                  "master_link_status:%s\r\nslave_repl_offset:%lld\r\n",
                  m->master ? m->master->host : "127.0.0.1",
                  m->master ? m->master->options.port : 0,
                  m->master ? "up" : "down", (long long)m->offset);
    put_replicas(m, out);
    md_printf(out, "master_replid:%s\r\nmaster_replid2:%s\r\n", m->replication_id,
              m->former_id[0] ? m->former_id : none);
    md_printf(out, "master_repl_offset:%lld\r\n", (long long)m->offset);
}
