/* Connections: requests are cut out of the bytes that arrive, executed in order,
 * and answered together at the end of each call from outside. */
#include "tests/sim/model/inner.h"

#include <stdlib.h>

#define MOST_ARGS (1024 * 1024)
#define MOST_BULK (512 * 1024 * 1024)
#define MOST_INLINE (64 * 1024)

/* ---- coming and going ---- */

static struct model_client *new_client(struct model *m, model_write_fn *write,
                                       model_close_fn *close, void *ctx)
{
    struct model_client *c = md_alloc(sizeof *c);

    c->m = m;
    c->write = write;
    c->close = close;
    c->ctx = ctx;
    c->id = ++m->next_client_id;
    c->active_us = m->now_us;
    c->protocol = 2;
    c->user = md_user(m, md_text("default"));
    c->is_authenticated = c->user && md_user_is_open(c->user);
    c->prev = m->clients.prev;
    c->next = &m->clients;
    c->prev->next = c->next->prev = c;
    m->client_count++;
    return c;
}

struct model_client *model_accept(struct model *m, model_write_fn *write,
                                  model_close_fn *close, void *ctx)
{
    static const char full[] = "-ERR max number of clients reached\r\n";

    if (m->client_count < m->options.maxclients)
        return new_client(m, write, close, ctx);
    write(ctx, full, sizeof full - 1);
    close(ctx);
    return NULL;
}

static void forget_ready(struct model_client *c)
{
    struct model *m = c->m;
    size_t n = 0;

    for (size_t i = 0; i < m->ready_n; i++)
        if (m->ready[i] != c)
            m->ready[n++] = m->ready[i];
    m->ready_n = n;
}

void md_free_client(struct model_client *c)
{
    md_unsubscribe_all(c);
    md_untrack(c);
    forget_ready(c);
    c->next->prev = c->prev;
    c->prev->next = c->next;
    c->m->client_count--;
    md_bytes_free(&c->in);
    md_bytes_free(&c->out);
    md_bytes_free(&c->queue);
    free(c->argv);
    free(c);
}

void md_close(struct model_client *c)
{
    c->is_closing = true;
}

void model_hang_up(struct model_client *c)
{
    if (!c->m->is_frozen) {
        md_free_client(c);
        return;
    }
    c->is_gone = true;
    if (!c->is_queued)
        model_feed(c, "", 0);
}

void model_reset(struct model_client *c)
{
    md_free_client(c);
}

/* ---- writing ---- */

static void flush_client(struct model_client *c)
{
    if (c->is_gone || c->is_closing) {
        if (!c->is_gone && c->out.n)
            c->write(c->ctx, c->out.p, c->out.n);
        if (!c->is_gone && !c->is_master)
            c->close(c->ctx);
        md_free_client(c);
        return;
    }
    if (c->out.n && !c->is_master)
        c->write(c->ctx, c->out.p, c->out.n);
    c->out.n = 0;
}

/* A frozen server writes nothing; what it is owed waits. */
void md_flush(struct model *m)
{
    struct model_client *next;

    if (m->is_frozen)
        return;
    for (struct model_client *c = m->clients.next; c != &m->clients; c = next) {
        next = c->next;
        flush_client(c);
    }
}

/* ---- requests ---- */

enum parsed { WHOLE, PART, BROKEN };

static enum parsed broken(struct model_client *c, const char *text)
{
    md_printf(&c->out, "-ERR Protocol error: %s\r\n", text);
    md_close(c);
    return BROKEN;
}

/* A line behind `at`, without its end; *at then stands behind it. */
static bool take_line(const struct model_client *c, size_t *at,
                      struct slice *line)
{
    const char *start = c->in.p + *at;
    const char *end = memchr(start, '\n', c->in.n - *at);

    if (!end)
        return false;
    *line = (struct slice){start, (size_t)(end - start)};
    *at += line->n + 1;
    if (line->n > 0 && line->p[line->n - 1] == '\r')
        line->n--;
    return true;
}

static void room_for_args(struct model_client *c, size_t n)
{
    while (c->argv_room < n)
        c->argv =
            md_grow(c->argv, c->argv_room, &c->argv_room, sizeof *c->argv);
}

static enum parsed parse_bulk(struct model_client *c, size_t *at,
                              struct slice *out)
{
    struct slice line;
    int64_t n;

    if (!take_line(c, at, &line))
        return PART;
    if (line.n == 0 || line.p[0] != '$') {
        char text[32] = "expected '$', got 'x'";

        text[19] = line.n ? line.p[0] : '\r';
        return broken(c, text);
    }
    if (!md_integer((struct slice){line.p + 1, line.n - 1}, &n) || n < 0 ||
        n > MOST_BULK)
        return broken(c, "invalid bulk length");
    if (c->in.n - *at < (size_t)n + 2)
        return PART;
    *out = (struct slice){c->in.p + *at, (size_t)n};
    *at += (size_t)n + 2;
    return WHOLE;
}

static enum parsed parse_array(struct model_client *c, size_t *at, int *argc)
{
    struct slice line;
    int64_t n;
    enum parsed rc = WHOLE;

    if (!take_line(c, at, &line))
        return PART;
    if (!md_integer((struct slice){line.p + 1, line.n - 1}, &n) ||
        n > MOST_ARGS)
        return broken(c, "invalid multibulk length");
    *argc = n > 0 ? (int)n : 0;
    room_for_args(c, (size_t)*argc);
    for (int i = 0; i < *argc && rc == WHOLE; i++)
        rc = parse_bulk(c, at, &c->argv[i]);
    return rc;
}

/* Words between blanks; quotes are not modelled. */
static enum parsed parse_inline(struct model_client *c, size_t *at, int *argc)
{
    struct slice line;
    size_t i = 0;

    if (!take_line(c, at, &line))
        return c->in.n - *at > MOST_INLINE ? broken(c, "too big inline request")
                                           : PART;
    *argc = 0;
    while (i < line.n) {
        size_t start = i;

        while (i < line.n && line.p[i] != ' ')
            i++;
        room_for_args(c, (size_t)*argc + 1);
        if (i > start)
            c->argv[(*argc)++] = (struct slice){line.p + start, i - start};
        i++;
    }
    return WHOLE;
}

static bool may_run(const struct model_client *c)
{
    const struct model *m = c->m;

    return !c->is_closing && !c->is_blocked && !m->is_frozen &&
           (m->paused_until_us == INT64_MIN || m->pauses_writes_only ||
            c->is_master);
}

static bool run_one(struct model_client *c)
{
    size_t at = c->in_at;
    int argc = 0;
    enum parsed rc = c->in.p[at] == '*' ? parse_array(c, &at, &argc)
                                        : parse_inline(c, &at, &argc);

    if (rc != WHOLE)
        return false;
    c->in_at = at;
    if (argc > 0)
        md_execute(c, c->argv, argc);
    return true;
}

void md_run_input(struct model_client *c)
{
    while (may_run(c) && c->in_at < c->in.n && run_one(c))
        ;
    if (c->in_at == 0)
        return;
    memmove(c->in.p, c->in.p + c->in_at, c->in.n - c->in_at);
    c->in.n -= c->in_at;
    c->in_at = 0;
}

void model_feed(struct model_client *c, const void *bytes, size_t len)
{
    struct model *m = c->m;

    c->active_us = m->now_us;
    md_add(&c->in, bytes, len);
    if (!m->is_frozen) {
        md_run_input(c);
        md_flush(m);
    } else if (!c->is_queued) {
        m->ready =
            md_grow(m->ready, m->ready_n, &m->ready_room, sizeof *m->ready);
        m->ready[m->ready_n++] = c;
        c->is_queued = true;
    }
}

void md_unblock(struct model_client *c, int64_t n)
{
    c->is_blocked = false;
    md_put_int(&c->out, n);
    md_run_input(c);
}
