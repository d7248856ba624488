/* Commands of the connection itself: HELLO, AUTH, CLIENT, SELECT, MULTI, ... */
#include "tests/sim/model/inner.h"

#include <stdio.h>
#include <stdlib.h>

static const char *server_name(const struct model *m)
{
    return m->options.version == MODEL_VALKEY_9 ? "valkey" : "redis";
}

const char *md_version(const struct model *m)
{
    static const char *const versions[] = {
        [MODEL_REDIS_6_0] = "6.0.16",
        [MODEL_REDIS_7_0] = "7.0.15",
        [MODEL_VALKEY_9] = "9.1.2",
    };

    return versions[m->options.version];
}

/* ---- AUTH, HELLO ---- */

static bool authenticate(struct call *c, struct slice name,
                         struct slice password)
{
    struct user *u = md_user(c->m, name);

    if (!u || !md_password_fits(u, password)) {
        md_error(c, "WRONGPASS invalid username-password pair or user is "
                    "disabled.");
        return false;
    }
    c->client->user = u;
    c->client->is_authenticated = true;
    (void)snprintf(c->client->password, sizeof c->client->password, "%.*s",
                   (int)password.n, password.p);
    return true;
}

static void run_auth(struct call *c)
{
    const struct user *u = md_user(c->m, md_text("default"));

    if (c->argc > 3) {
        md_syntax(c);
        return;
    }
    if (c->argc == 2 && md_user_is_open(u)) {
        md_error(c, "ERR AUTH <password> called without any password "
                    "configured for the default user. Are you sure your "
                    "configuration is correct?");
        return;
    }
    if (authenticate(c, c->argc == 3 ? c->argv[1] : md_text("default"),
                     c->argv[c->argc - 1]))
        md_ok(c);
}

static bool set_name(struct call *c, struct slice name)
{
    for (size_t i = 0; i < name.n; i++)
        if (name.p[i] < '!' || name.p[i] > '~') {
            md_error(c, "ERR Client names cannot contain spaces, newlines or "
                        "special characters.");
            return false;
        }
    (void)snprintf(c->client->name, sizeof c->client->name, "%.*s",
                   (int)name.n, name.p);
    return true;
}

static bool hello_options(struct call *c)
{
    for (int i = 2; i < c->argc; i++) {
        if (md_is(c->argv[i], "auth") && i + 2 < c->argc) {
            if (!authenticate(c, c->argv[i + 1], c->argv[i + 2]))
                return false;
            i += 2;
        } else if (md_is(c->argv[i], "setname") && i + 1 < c->argc) {
            if (!set_name(c, c->argv[++i]))
                return false;
        } else {
            md_error(c, "ERR Syntax error in HELLO option '%.*s'",
                     (int)c->argv[i].n, c->argv[i].p);
            return false;
        }
    }
    return true;
}

static void reply_hello(struct call *c)
{
    const struct model *m = c->m;
    bool has_zone = m->options.version == MODEL_VALKEY_9;

    md_map(c, 7 + has_zone);
    md_bulk_text(c, "server");
    md_bulk_text(c, server_name(m));
    md_bulk_text(c, "version");
    md_bulk_text(c, md_version(m));
    md_bulk_text(c, "proto");
    md_int(c, c->protocol);
    md_bulk_text(c, "id");
    md_int(c, c->client->id);
    md_bulk_text(c, "mode");
    md_bulk_text(c, m->topology.mode ? m->topology.mode : "standalone");
    md_bulk_text(c, "role");
    md_bulk_text(c, m->is_replica ? "replica" : "master");
    md_bulk_text(c, "modules");
    md_array(c, 0);
    if (has_zone) {
        md_bulk_text(c, "availability_zone");
        md_bulk_text(c, "");
    }
}

static void run_hello(struct call *c)
{
    int64_t protocol = c->client->protocol;

    if (c->argc > 1 && !md_integer(c->argv[1], &protocol)) {
        md_error(c, "ERR Protocol version is not an integer or out of range");
        return;
    }
    if (protocol != 2 && protocol != 3) {
        md_error(c, "NOPROTO unsupported protocol version");
        return;
    }
    if (!hello_options(c))
        return;
    if (!c->client->is_authenticated) {
        md_error(c, "NOAUTH HELLO must be called with the client already "
                    "authenticated, otherwise the HELLO AUTH <user> "
                    "<pass> option can be used to authenticate the client and "
                    "select the RESP protocol version at the same time");
        return;
    }
    c->client->protocol = c->protocol = (int)protocol;
    reply_hello(c);
}

/* ---- small ones ---- */

static void run_ping(struct call *c)
{
    struct model_client *client = c->client;

    if (c->argc > 2) {
        md_error(c, "ERR wrong number of arguments for '%s' command",
                 c->command->name);
    } else if (client->protocol == 2 && !c->script &&
               client->channels + client->shard_channels > 0) {
        md_array(c, 2);
        md_bulk_text(c, "pong");
        md_bulk(c, c->argc == 2 ? c->argv[1] : md_text(""));
    } else if (c->argc == 2) {
        md_bulk(c, c->argv[1]);
    } else {
        md_simple(c, "PONG");
    }
}

static void run_echo(struct call *c)
{
    md_bulk(c, c->argv[1]);
}

static void run_select(struct call *c)
{
    int64_t db;

    if (!md_integer(c->argv[1], &db)) {
        md_error(c, "ERR value is not an integer or out of range");
        return;
    }
    if (c->m->topology.mode && strcmp(c->m->topology.mode, "cluster") == 0 &&
        db != 0) {
        md_error(c, "ERR SELECT is not allowed in cluster mode");
        return;
    }
    if (db < 0 || db >= MD_DATABASES) {
        md_error(c, "ERR DB index is out of range");
        return;
    }
    c->client->db = (int)db;
    md_ok(c);
}

static void run_quit(struct call *c)
{
    md_ok(c);
    md_close(c->client);
}

static void forget_multi(struct model_client *c)
{
    c->is_in_multi = c->is_multi_bad = false;
    c->queue.n = 0;
    c->queue_n = 0;
}

static void run_reset(struct call *c)
{
    struct model_client *client = c->client;

    md_unsubscribe_all(client);
    md_untrack(client);
    forget_multi(client);
    client->db = 0;
    client->protocol = 2;
    client->name[0] = '\0';
    client->is_asking = client->reads_replica = false;
    client->user = md_user(c->m, md_text("default"));
    client->is_authenticated = md_user_is_open(client->user);
    md_simple(c, "RESET");
}

static void run_time(struct call *c)
{
    char text[24];

    md_array(c, 2);
    md_bulk(c, (struct slice){text, md_format(text, c->m->now_us / 1000000)});
    md_bulk(c, (struct slice){text, md_format(text, c->m->now_us % 1000000)});
}

/* ---- MULTI ---- */

static void run_multi(struct call *c)
{
    if (c->client->is_in_multi) {
        md_error(c, "ERR MULTI calls can not be nested");
        c->client->is_multi_bad |= c->m->options.version == MODEL_VALKEY_9;
        return;
    }
    c->client->is_in_multi = true;
    md_ok(c);
}

static void run_discard(struct call *c)
{
    if (!c->client->is_in_multi) {
        md_error(c, "ERR DISCARD without MULTI");
        return;
    }
    forget_multi(c->client);
    md_ok(c);
}

/* Each command is checked and run once more, but the changes are told and
 * replicated together. */
static void run_exec(struct call *c)
{
    struct model_client *client = c->client;
    struct bytes queue = client->queue;
    int n = client->queue_n;
    bool is_bad = client->is_multi_bad;

    if (!client->is_in_multi) {
        md_error(c, "ERR EXEC without MULTI");
        return;
    }
    client->queue = (struct bytes){NULL, 0, 0};
    forget_multi(client);
    if (is_bad)
        md_error(c, "EXECABORT Transaction discarded because of previous "
                    "errors.");
    else
        md_array(c, (size_t)n);
    if (!is_bad)
        md_execute_queue(client, &queue);
    md_bytes_free(&queue);
}

/* ---- CLIENT ---- */

static void run_id(struct call *c)
{
    md_int(c, c->client->id);
}

static void run_setname(struct call *c)
{
    if (set_name(c, c->argv[2]))
        md_ok(c);
}

static void run_getname(struct call *c)
{
    if (c->client->name[0])
        md_bulk_text(c, c->client->name);
    else
        md_null(c);
}

static void run_setinfo(struct call *c)
{
    bool is_name = md_is(c->argv[2], "lib-name");
    char *to = is_name ? c->client->lib_name : c->client->lib_ver;

    if (!is_name && !md_is(c->argv[2], "lib-ver")) {
        md_error(c, "ERR Unrecognized option '%.*s'", (int)c->argv[2].n,
                 c->argv[2].p);
        return;
    }
    (void)snprintf(to, sizeof c->client->lib_name, "%.*s", (int)c->argv[3].n,
                   c->argv[3].p);
    md_ok(c);
}

static void put_client(struct bytes *out, const struct model_client *c)
{
    md_printf(out,
              "id=%lld addr=127.0.0.1:0 laddr=%s:%d name=%s db=%d sub=%d "
              "ssub=%d resp=%d user=%s lib-name=%s lib-ver=%s\n",
              (long long)c->id, c->m->host, c->m->options.port, c->name, c->db,
              c->channels, c->shard_channels, c->protocol,
              c->user ? md_user_name(c->user) : "(superuser)", c->lib_name,
              c->lib_ver);
}

static void run_list(struct call *c)
{
    struct bytes text = {NULL, 0, 0};
    const struct model *m = c->m;

    for (const struct model_client *o = m->clients.next; o != &m->clients;
         o = o->next)
        if (!o->is_master)
            put_client(&text, o);
    md_bulk(c, (struct slice){text.p, text.n});
    md_bytes_free(&text);
}

static void run_info(struct call *c)
{
    struct bytes text = {NULL, 0, 0};

    put_client(&text, c->client);
    md_bulk(c, (struct slice){text.p, text.n});
    md_bytes_free(&text);
}

/* Those of a type: normal or pubsub, as server_kill_connections of the tests. */
static bool is_hit(const struct call *c, const struct model_client *o,
                   bool spares_self)
{
    int64_t id;

    if (o->is_master || (spares_self && o == c->client))
        return false;
    for (int i = 2; i + 1 < c->argc; i += 2) {
        bool subscribes = o->channels + o->shard_channels > 0;

        if (md_is(c->argv[i], "id") &&
            (!md_integer(c->argv[i + 1], &id) || id != o->id))
            return false;
        if (md_is(c->argv[i], "type") &&
            subscribes != md_is(c->argv[i + 1], "pubsub"))
            return false;
        if (md_is(c->argv[i], "user") &&
            !md_same(c->argv[i + 1], md_text(md_user_name(o->user))))
            return false;
    }
    return true;
}

static bool parse_kill(struct call *c, bool *spares_self)
{
    int64_t id;

    *spares_self = true;
    for (int i = 2; i < c->argc; i += 2) {
        bool is_known = md_is(c->argv[i], "id") || md_is(c->argv[i], "type") ||
                        md_is(c->argv[i], "user") ||
                        md_is(c->argv[i], "skipme");

        if (!is_known || i + 1 >= c->argc) {
            md_syntax(c);
            return false;
        }
        if (md_is(c->argv[i], "id") &&
            (!md_integer(c->argv[i + 1], &id) || id < 1)) {
            md_error(c, "ERR client-id should be greater than 0");
            return false;
        }
        if (md_is(c->argv[i], "skipme"))
            *spares_self = md_is(c->argv[i + 1], "yes");
    }
    return true;
}

static void run_kill(struct call *c)
{
    bool spares_self;
    int n = 0;

    if (c->argc == 3) {
        md_error(c, "ERR No such client");
        return;
    }
    if (!parse_kill(c, &spares_self))
        return;
    for (struct model_client *o = c->m->clients.next; o != &c->m->clients;
         o = o->next)
        if (!o->is_closing && is_hit(c, o, spares_self))
            md_close(o), n++;
    md_int(c, n);
}

static void run_pause(struct call *c)
{
    int64_t ms;

    if (!md_int_arg(c, 2, &ms))
        return;
    c->m->pauses_writes_only = c->argc > 3 && md_is(c->argv[3], "write");
    c->m->paused_until_us = c->m->now_us + ms * 1000;
    md_ok(c);
}

static void run_unpause(struct call *c)
{
    c->m->paused_until_us = c->m->now_us;
    md_ok(c);
}

static void run_yes(struct call *c)
{
    md_ok(c);
}

#define ANYTIME (C_NO_SCRIPT | C_LOADING)

static const struct command client_sub[] = {
    {"id", 2, ANYTIME, .run = run_id},
    {"setname", 3, ANYTIME, .run = run_setname},
    {"getname", 2, ANYTIME, .run = run_getname},
    {"setinfo", 4, ANYTIME, .run = run_setinfo, .since = 72},
    {"list", -2, ANYTIME | C_ADMIN, .run = run_list},
    {"info", 2, ANYTIME, .run = run_info, .since = 62},
    {"tracking", -3, ANYTIME, .run = md_run_tracking},
    {"caching", 3, ANYTIME, .run = md_run_caching},
    {"kill", -3, ANYTIME | C_ADMIN, .run = run_kill},
    {"pause", -3, ANYTIME | C_ADMIN, .run = run_pause},
    {"unpause", 2, ANYTIME | C_ADMIN, .run = run_unpause, .since = 62},
    {"no-evict", 3, ANYTIME | C_ADMIN, .run = run_yes, .since = 70},
    {.name = NULL},
};

#define FIRST (ANYTIME | C_NO_AUTH | C_BUSY)

const struct command md_connection_commands[] = {
    {"hello", -1, FIRST, .run = run_hello},
    {"auth", -2, FIRST, .run = run_auth},
    {"quit", -1, FIRST | C_SUBSCRIBED, .run = run_quit},
    {"reset", 1, FIRST | C_SUBSCRIBED, .run = run_reset, .since = 62},
    {"ping", -1, C_SUBSCRIBED, .run = run_ping},
    {"echo", 2, C_LOADING, .run = run_echo},
    {"select", 2, C_LOADING, .run = run_select},
    {"time", 1, C_LOADING, .run = run_time},
    {"multi", 1, ANYTIME | C_BUSY, .run = run_multi},
    {"exec", 1, ANYTIME, .run = run_exec},
    {"discard", 1, ANYTIME | C_BUSY, .run = run_discard},
    {"client", -2, 0, .sub = client_sub},
    {.name = NULL},
};
