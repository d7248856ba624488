/* Commands about the server: INFO, CONFIG, ROLE, WAIT, DEBUG. */
#include "tests/sim/model/inner.h"

#include <stdlib.h>

/* ---- INFO ---- */

static void put_server(const struct model *m, struct bytes *out)
{
    if (m->options.version == MODEL_VALKEY_9)
        md_printf(out, "redis_version:7.2.4\r\nserver_name:valkey\r\n"
                       "valkey_version:%s\r\n",
                  md_version(m));
    else
        md_printf(out, "redis_version:%s\r\n", md_version(m));
    md_printf(out,
              "%s:%s\r\nprocess_id:1\r\nrun_id:%s\r\ntcp_port:%d\r\n"
              "server_time_usec:%lld\r\nuptime_in_seconds:%lld\r\n",
              m->options.version == MODEL_VALKEY_9 ? "server_mode"
                                                   : "redis_mode",
              m->topology.mode ? m->topology.mode : "standalone",
              m->seems ? m->seems->run_id : m->run_id,
              m->options.port, (long long)m->now_us,
              (long long)(m->now_us - m->started_us) / 1000000);
}

static void put_clients(const struct model *m, struct bytes *out)
{
    md_printf(out, "connected_clients:%d\r\nmaxclients:%d\r\n",
              m->client_count, m->options.maxclients);
}

static void put_persistence(const struct model *m, struct bytes *out)
{
    md_printf(out, "loading:%d\r\n", m->is_loading);
}

static void put_keyspace(const struct model *m, struct bytes *out)
{
    for (int i = 0; i < MD_DATABASES; i++)
        if (m->dbs[i].n)
            md_printf(out, "db%d:keys=%zu,expires=%zu,avg_ttl=0\r\n", i,
                      m->dbs[i].n, m->dbs[i].heap_n);
}

static void put_nothing(const struct model *m, struct bytes *out)
{
    (void)m, (void)out;
}

static const struct {
    const char *name, *title;
    void (*put)(const struct model *m, struct bytes *out);
} sections[] = {
    {"server", "Server", put_server},
    {"clients", "Clients", put_clients},
    {"persistence", "Persistence", put_persistence},
    {"replication", "Replication", md_put_replication_info},
    {"cluster", "Cluster", put_nothing},
    {"sentinel", "Sentinel", put_nothing},
    {"keyspace", "Keyspace", put_keyspace},
};

static bool is_wanted(const struct call *c, const char *section)
{
    if (c->argc == 1)
        return true;
    for (int i = 1; i < c->argc; i++)
        if (md_is(c->argv[i], section) || md_is(c->argv[i], "all") ||
            md_is(c->argv[i], "default") || md_is(c->argv[i], "everything"))
            return true;
    return false;
}

static void put_section(const struct call *c, size_t i, struct bytes *text)
{
    const struct topology *t = &c->m->topology;
    struct bytes lines = {NULL, 0, 0};

    sections[i].put(c->m, &lines);
    if (strcmp(sections[i].name, "cluster") == 0)
        md_printf(&lines, "cluster_enabled:%d\r\n",
                  t->mode && strcmp(t->mode, "cluster") == 0);
    if (t->info)
        t->info(t->ctx, sections[i].name, &lines);
    if (lines.n)
        md_printf(text, "%s# %s\r\n%.*s", text->n ? "\r\n" : "",
                  sections[i].title, (int)lines.n, lines.p);
    md_bytes_free(&lines);
}

static void run_info(struct call *c)
{
    struct bytes text = {NULL, 0, 0};

    for (size_t i = 0; i < sizeof sections / sizeof *sections; i++)
        if (is_wanted(c, sections[i].name))
            put_section(c, i, &text);
    if (c->protocol == 3)
        md_printf(c->out, "=%zu\r\ntxt:%.*s\r\n", text.n + 4, (int)text.n,
                  text.n ? text.p : "");
    else
        md_bulk(c, (struct slice){text.n ? text.p : "", text.n});
    md_bytes_free(&text);
}

/* ---- CONFIG ---- */

static const struct {
    const char *name, *value;
} defaults[] = {
    {"save", ""},
    {"maxmemory", "0"},
    {"maxmemory-policy", "noeviction"},
    {"appendonly", "no"},
    {"appendfsync", "everysec"},
    {"min-replicas-to-write", "0"},
    {"min-slaves-to-write", "0"},
    {"replica-read-only", "yes"},
    {"slave-read-only", "yes"},
    {"timeout", "0"},
    {"tcp-keepalive", "300"},
    {"lua-time-limit", "5000"},
    {"busy-reply-threshold", "5000"},
    {"maxclients", "10000"},
    {"cluster-require-full-coverage", "yes"},
    {"cluster-node-timeout", "15000"},
};

static struct slice value_of(const struct model *m, size_t i)
{
    ptrdiff_t at = md_field_find(&m->config, md_text(defaults[i].name));

    return at < 0 ? md_text(defaults[i].value)
                  : md_slice(m->config.at[at].value);
}

static bool is_asked(const struct call *c, size_t i)
{
    for (int k = 2; k < c->argc; k++)
        if (md_glob(c->argv[k], md_text(defaults[i].name)))
            return true;
    return false;
}

static void run_config_get(struct call *c)
{
    size_t n = 0, count = sizeof defaults / sizeof *defaults;

    for (size_t i = 0; i < count; i++)
        n += is_asked(c, i);
    md_map(c, n);
    for (size_t i = 0; i < count; i++)
        if (is_asked(c, i)) {
            md_bulk_text(c, defaults[i].name);
            md_bulk(c, value_of(c->m, i));
        }
}

static bool set_config(struct call *c, struct slice name, struct slice value)
{
    int64_t n;

    for (size_t i = 0; i < sizeof defaults / sizeof *defaults; i++) {
        if (!md_is(name, defaults[i].name))
            continue;
        (void)md_field_set(&c->m->config, md_text(defaults[i].name), value,
                           SIZE_MAX);
        if (md_is(name, "maxclients") && md_integer(value, &n))
            c->m->options.maxclients = (int)n;
        return true;
    }
    md_error(c, "ERR Unknown option or number of arguments for CONFIG SET - "
                "'%.*s'",
             (int)name.n, name.p);
    return false;
}

static void run_config_set(struct call *c)
{
    for (int i = 2; i + 1 < c->argc; i += 2)
        if (!set_config(c, c->argv[i], c->argv[i + 1]))
            return;
    md_ok(c);
}

/* ---- replication ---- */

static void run_role(struct call *c)
{
    md_put_role(c);
}

static bool parse_wait(struct call *c, int64_t *replicas, int64_t *timeout)
{
    if (c->m->is_replica) {
        md_error(c, "ERR WAIT cannot be used with replica instances. Please "
                    "also note that since Redis 4.0 if a replica is "
                    "configured to be writable (which is not the default) "
                    "writes to replicas are just local and are not "
                    "propagated.");
        return false;
    }
    if (!md_int_arg(c, 1, replicas))
        return false;
    if (!md_integer(c->argv[2], timeout)) {
        md_error(c, "ERR timeout is not an integer or out of range");
        return false;
    }
    if (*timeout < 0)
        md_error(c, "ERR timeout is negative");
    return *timeout >= 0;
}

static void run_wait(struct call *c)
{
    struct model_client *client = c->client;
    int64_t replicas, timeout, n;

    if (!parse_wait(c, &replicas, &timeout))
        return;
    n = md_replicas_at(c->m, client->written_to);
    if (n >= replicas) {
        md_int(c, n);
        return;
    }
    client->is_blocked = true;
    client->wait_offset = client->written_to;
    client->wait_replicas = replicas;
    client->wait_until_us =
        timeout ? c->m->now_us + timeout * 1000 : INT64_MAX;
}

static void run_ok(struct call *c)
{
    md_ok(c);
}

static const struct command config_sub[] = {
    {"get", -3, C_NO_SCRIPT | C_LOADING | C_ADMIN, .run = run_config_get},
    {"set", -4, C_NO_SCRIPT | C_LOADING | C_ADMIN, .run = run_config_set},
    {"resetstat", 2, C_NO_SCRIPT | C_LOADING | C_ADMIN, .run = run_ok},
    {.name = NULL},
};

const struct command md_server_commands[] = {
    {"info", -1, C_LOADING | C_ADMIN, .run = run_info},
    {"config", -2, C_ADMIN, .sub = config_sub},
    {"role", 1, C_NO_SCRIPT | C_LOADING | C_ADMIN, .run = run_role},
    {"wait", 3, C_NO_SCRIPT, .run = run_wait},
    {.name = NULL},
};
