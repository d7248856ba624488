/* SENTINEL, ROLE, +switch-master. Everything else a sentinel has in common with
 * a server; it has no data. */
#include "tests/sim/model/sentinel.h"

#include <stdio.h>
#include <stdlib.h>

#include "tests/sim/model/inner.h"

enum { OTHERS = 8, COMMANDS = 24 };

struct address {
    char host[64];
    int port;
};

struct sentinel {
    struct model *m;
    char name[64];
    struct address master;
    const struct model *others[OTHERS];
    int other_count;
    struct command commands[COMMANDS];
};

/* ---- answers ---- */

static const struct sentinel *of(const struct call *c)
{
    return c->m->topology.ctx;
}

static void put_port(struct call *c, int port)
{
    char text[24];

    (void)md_format(text, port);
    md_bulk_text(c, text);
}

static void run_get_master(struct call *c)
{
    const struct sentinel *s = of(c);

    if (!md_same(c->argv[2], md_text(s->name))) {
        md_null_array(c);
        return;
    }
    md_array(c, 2);
    md_bulk_text(c, s->master.host);
    put_port(c, s->master.port);
}

static void put_other(struct call *c, const struct model *other)
{
    md_map(c, 5);
    md_bulk_text(c, "name");
    md_bulk_text(c, other->run_id);
    md_bulk_text(c, "ip");
    md_bulk_text(c, other->host);
    md_bulk_text(c, "port");
    put_port(c, other->options.port);
    md_bulk_text(c, "runid");
    md_bulk_text(c, other->run_id);
    md_bulk_text(c, "flags");
    md_bulk_text(c, "sentinel");
}

static void run_sentinels(struct call *c)
{
    const struct sentinel *s = of(c);

    if (!md_same(c->argv[2], md_text(s->name))) {
        md_error(c, "ERR No such master with that name");
        return;
    }
    md_array(c, (size_t)s->other_count);
    for (int i = 0; i < s->other_count; i++)
        put_other(c, s->others[i]);
}

static void run_role(struct call *c)
{
    md_array(c, 2);
    md_bulk_text(c, "sentinel");
    md_array(c, 1);
    md_bulk_text(c, of(c)->name);
}

static const struct command sub[] = {
    {"get-master-addr-by-name", 3, C_LOADING, .run = run_get_master},
    {"sentinels", 3, C_LOADING, .run = run_sentinels},
    {.name = NULL},
};

/* ---- its commands ---- */

static const char *const common[] = {
    "auth",  "client",    "hello",       "info", "ping",
    "reset", "subscribe", "unsubscribe", "quit",
};

/* Its own, and those that it has in common with servers. */
static void fill_commands(struct sentinel *s)
{
    const struct command *container;
    struct command *at = s->commands;

    *at++ = (struct command){"sentinel", -2, C_LOADING, .sub = sub};
    *at++ = (struct command){"role", 1, C_LOADING, .run = run_role};
    for (size_t i = 0; i < sizeof common / sizeof *common; i++) {
        struct slice name = md_text(common[i]);
        const struct command *cmd = md_command(s->m, &name, 1, &container);

        if (cmd)
            *at++ = *cmd;
    }
}

struct sentinel *sentinel_new(struct model *m, const char *name,
                              const char *host, int port)
{
    struct sentinel *s = md_alloc(sizeof *s);
    struct topology t = {.ctx = s, .has_only_these = true, .mode = "sentinel"};

    s->m = m;
    (void)snprintf(s->name, sizeof s->name, "%s", name);
    (void)snprintf(s->master.host, sizeof s->master.host, "%s", host);
    s->master.port = port;
    fill_commands(s);
    t.commands = s->commands;
    md_set_topology(m, &t);
    return s;
}

void sentinel_free(struct sentinel *s)
{
    free(s);
}

void sentinel_meet(struct sentinel *s, const struct model *other)
{
    if (s->other_count < OTHERS && other != s->m)
        s->others[s->other_count++] = other;
}

void sentinel_tell(struct sentinel *s, const char *host, int port)
{
    char news[256];
    struct address old = s->master;

    (void)snprintf(s->master.host, sizeof s->master.host, "%s", host);
    s->master.port = port;
    (void)snprintf(news, sizeof news, "%s %s %d %s %d", s->name, old.host,
                   old.port, s->master.host, s->master.port);
    (void)md_publish(s->m, md_text("+switch-master"), md_text(news), false);
    md_flush(s->m);
}
