/* Executing a command: looked up, checked in the order of the real servers, run,
 * replicated, told to the observer.
 * Source: processCommand() of Redis 7.0, as tests/live/model/test_model.c sees it. */
#include "tests/sim/model/inner.h"

#include <ctype.h>
#include <stdlib.h>

/* ---- the table ---- */

/* Open addressing; all names are known at the first look-up. */
#define TABLE 512

static const struct command *table[TABLE];

static const struct command *const tables[] = {
    md_string_commands, md_key_commands,        md_hash_commands,
    md_list_commands,   md_zset_commands,       md_connection_commands,
    md_pubsub_commands, md_script_commands,     md_server_commands,
    md_acl_commands,
};

static size_t place_of(struct slice name)
{
    size_t at = md_hash(name, 0) % TABLE;

    while (table[at] && !md_same(md_text(table[at]->name), name))
        at = (at + 1) % TABLE;
    return at;
}

static void fill_table(void)
{
    if (table[place_of(md_text("ping"))])
        return;
    for (size_t i = 0; i < sizeof tables / sizeof *tables; i++)
        for (const struct command *cmd = tables[i]; cmd->name; cmd++)
            table[place_of(md_text(cmd->name))] = cmd;
}

static const struct command *in_list(const struct command *list,
                                     struct slice name)
{
    for (; list && list->name; list++)
        if (md_is(name, list->name))
            return list;
    return NULL;
}

static const struct command *top_command(const struct model *m,
                                         struct slice name)
{
    const struct command *cmd = in_list(m->topology.commands, name);
    char lower[32];

    if (cmd || m->topology.has_only_these || name.n > sizeof lower)
        return cmd;
    for (size_t i = 0; i < name.n; i++)
        lower[i] = (char)tolower((unsigned char)name.p[i]);
    fill_table();
    return table[place_of((struct slice){lower, name.n})];
}

/* What `since` counts in. */
static int age(const struct model *m)
{
    static const int ages[] = {
        [MODEL_REDIS_6_0] = 60, [MODEL_REDIS_7_0] = 70, [MODEL_VALKEY_9] = 90};

    return ages[m->options.version];
}

const struct command *md_command(const struct model *m,
                                 const struct slice *argv, int argc,
                                 const struct command **container)
{
    const struct command *cmd = top_command(m, argv[0]);

    *container = NULL;
    if (cmd && (cmd->since > age(m) ||
                (m->hidden && strcmp(cmd->name, m->hidden) == 0)))
        return NULL;
    if (!cmd || !cmd->sub || argc < 2)
        return cmd;
    *container = cmd;
    cmd = in_list(cmd->sub, argv[1]);
    return cmd && cmd->since > age(m) ? NULL : cmd;
}

int md_key_position(const struct command *cmd, const struct slice *argv,
                    int argc, int i)
{
    int64_t n = 0;
    int last = cmd->last < 0 ? argc + cmd->last : cmd->last;

    if (cmd->flags & C_KEYS_COUNTED) {
        if (argc < 3 || !md_integer(argv[2], &n) || i >= n || 3 + i >= argc)
            return -1;
        return 3 + i;
    }
    if (cmd->first == 0 || cmd->first + i * cmd->step > last)
        return -1;
    return cmd->first + i * cmd->step;
}

/* ---- checks ---- */

static bool say(struct call *c, const char *text)
{
    md_error(c, "%s", text);
    return false;
}

static bool is_old(const struct model *m)
{
    return m->options.version == MODEL_REDIS_6_0;
}

static bool is_valkey(const struct model *m)
{
    return m->options.version == MODEL_VALKEY_9;
}

static void unknown(struct call *c)
{
    struct bytes args = {NULL, 0, 0};
    for (int i = 1; i < c->argc && args.n < 128; i++)
        md_printf(&args, is_old(c->m) ? "`%.*s`, " : "'%.*s' ",
                  (int)(c->argv[i].n < 128 - args.n ? c->argv[i].n
                                                    : 128 - args.n),
                  c->argv[i].p);
    md_error(c, is_old(c->m) ? "ERR unknown command `%.*s`, with args beginning "
                         "with: %.*s"
                       : "ERR unknown command '%.*s', with args beginning "
                         "with: %.*s",
             (int)(c->argv[0].n < 128 ? c->argv[0].n : 128), c->argv[0].p,
             (int)args.n, args.n ? args.p : "");
    md_bytes_free(&args);
}

static void unknown_sub(struct call *c)
{
    char name[32];
    size_t i;

    for (i = 0; c->container->name[i] && i < sizeof name - 1; i++)
        name[i] = (char)toupper((unsigned char)c->container->name[i]);
    name[i] = '\0';
    md_error(c, "ERR unknown subcommand '%.*s'. Try %s HELP.",
             (int)(c->argv[1].n < 128 ? c->argv[1].n : 128), c->argv[1].p,
             name);
}

/* Arguments that came after 6.0. */
static int arity_of(const struct call *c)
{
    static const struct {
        const char *name;
        int arity;
    } old[] = {{"lpop", 2},     {"rpop", 2},      {"hello", -2},
               {"expire", 3},   {"pexpire", 3},   {"expireat", 3},
               {"pexpireat", 3}};

    for (size_t i = 0; is_old(c->m) && i < sizeof old / sizeof *old; i++)
        if (strcmp(c->command->name, old[i].name) == 0)
            return old[i].arity;
    return c->command->arity;
}

static bool has_arity(const struct call *c)
{
    int arity = arity_of(c);

    return arity < 0 ? c->argc >= -arity : c->argc == arity;
}

static void wrong_number(struct call *c)
{
    if (c->container && c->m->options.version != MODEL_REDIS_6_0)
        md_error(c, "ERR wrong number of arguments for '%s|%s' command",
                 c->container->name, c->command->name);
    else
        md_error(c, "ERR wrong number of arguments for '%s' command",
                 c->container ? c->container->name : c->command->name);
}

/* Is there such a command, called with so many arguments? */
static bool check_form(struct call *c)
{
    c->command = md_command(c->m, c->argv, c->argc, &c->container);
    if (is_valkey(c->m) && !c->client->is_authenticated &&
        !(c->command && c->command->flags & C_NO_AUTH))
        return say(c, "NOAUTH Authentication required.");
    if (!c->command && c->container) {
        unknown_sub(c);
        return false;
    }
    if (!c->command) {
        unknown(c);
        return false;
    }
    if (!has_arity(c) || !c->command->run) {
        wrong_number(c);
        return false;
    }
    return true;
}

static bool refuse(struct call *c, const char *refused)
{
    if (strcmp(refused, "command") == 0)
        md_refusal(c, "NOPERM this user has no permissions to run the '%s%s%s' "
                    "command%s",
                 c->container ? c->container->name : c->command->name,
                 c->container ? "|" : "",
                 c->container ? c->command->name : "",
                 is_old(c->m) ? " or its subcommand" : "");
    else
        md_refusal(c, "NOPERM this user has no permissions to access one of the "
                    "%ss used as arguments",
                 refused);
    return false;
}

static bool check_permission(struct call *c)
{
    const char *refused;

    if (!c->client->is_authenticated && !(c->command->flags & C_NO_AUTH)) {
        md_error(c, "NOAUTH Authentication required.");
        return false;
    }
    if (c->command->flags & C_NO_AUTH)
        return true;
    refused = md_refused(c);
    return refused ? refuse(c, refused) : true;
}

static bool is_subscriber(const struct model_client *c)
{
    return c->protocol == 2 && c->channels + c->shard_channels > 0;
}

static bool may_when_busy(const struct call *c)
{
    return c->command->flags & C_BUSY ||
           (is_valkey(c->m) && c->container &&
            strcmp(c->container->name, "client") == 0);
}

/* Writes are refused as long as there are too few replicas, or nothing can be
 * saved; then PING is, too. */
static bool may_write(struct call *c)
{
    const struct model *m = c->m;
    bool writes = c->command->flags & C_WRITE;

    if (m->is_unsaved && !m->is_replica &&
        (writes || strcmp(c->command->name, "ping") == 0))
        return say(c, is_valkey(m) ? "MISCONF Valkey is configured to save RDB "
                                     "snapshots, but it's currently unable to "
                                     "persist to disk."
                                   : "MISCONF Redis is configured to save RDB "
                                     "snapshots, but it's currently unable to "
                                     "persist to disk.");
    if (m->is_scant && !m->is_replica && writes)
        return say(c, "NOREPLICAS Not enough good replicas to write.");
    return true;
}

static bool check_state(struct call *c)
{
    unsigned flags = c->command->flags;
    struct model *m = c->m;

    if (m->is_full && flags & C_MEMORY)
        return say(c, "OOM command not allowed when used memory > "
                      "'maxmemory'.");
    if (m->is_replica && flags & C_WRITE)
        return say(c, "READONLY You can't write against a read only replica.");
    if (!may_write(c))
        return false;
    if (is_subscriber(c->client) && !(flags & C_SUBSCRIBED)) {
        md_error(c, "ERR Can't execute '%s': only (P|S)SUBSCRIBE / "
                    "(P|S)UNSUBSCRIBE / PING / QUIT / RESET are allowed in "
                    "this context",
                 c->command->name);
        return false;
    }
    if (m->is_loading && !(flags & C_LOADING))
        return say(c, is_valkey(m)
                          ? "LOADING Valkey is loading the dataset in memory"
                          : "LOADING Redis is loading the dataset in memory");
    if (m->is_busy && !may_when_busy(c))
        md_error(c, "BUSY %s is busy running a script. You can only call "
                    "SCRIPT KILL or SHUTDOWN NOSAVE.",
                 is_valkey(m) ? "Valkey" : "Redis");
    return !m->is_busy || may_when_busy(c);
}

static bool before(struct call *c)
{
    const struct topology *t = &c->m->topology;

    return t->before && t->before(t->ctx, c);
}

/* ---- running ---- */

/* What the command did goes to replicas in its own words, unless it has said
 * it in others. */
static void replicate(struct call *c)
{
    if (c->changed && !c->has_effect)
        md_effect(c, c->argv, c->argc);
}

static void run(struct call *c)
{
    c->changed = c->has_effect = false;
    c->command->run(c);
    md_track_reads(c);
    replicate(c);
    c->m->commands++;
}

/* Envoy's words. The request may have been executed. */
static bool is_lost_by_proxy(struct call *c)
{
    size_t start = c->out->n;

    if (c->m->proxy == MODEL_PROXY_SENDS || strncmp(c->command->name, "eval", 4) != 0)
        return false;
    if (c->m->proxy == MODEL_PROXY_LOSES_REPLIES) {
        run(c);
        c->out->n = start;
    }
    md_error(c, "upstream failure");
    return true;
}

static bool queue_in_multi(struct call *c)
{
    const char *name = c->command->name;

    if (!c->client->is_in_multi || strcmp(name, "exec") == 0 ||
        strcmp(name, "discard") == 0 || strcmp(name, "multi") == 0 ||
        strcmp(name, "quit") == 0 || strcmp(name, "reset") == 0)
        return false;
    md_put_request(&c->client->queue, c->argv, c->argc);
    c->client->queue_n++;
    md_simple(c, "QUEUED");
    return true;
}

static bool check(struct call *c)
{
    if (!check_form(c))
        return false;
    if (c->client->is_master)
        return true;
    return check_permission(c) && !before(c) && check_state(c);
}

static bool has_keys(const struct command *command)
{
    return command->first > 0 || command->flags & C_KEYS_COUNTED;
}

static void execute(struct model_client *client, const struct slice *argv,
                    int argc)
{
    struct model *m = client->m;
    struct call c = {.m = m, .client = client, .argv = argv, .argc = argc,
                     .out = &client->out, .protocol = client->protocol,
                     .db = &m->dbs[client->db]};
    bool was_asking = client->is_asking, was_caching = client->is_caching;

    if (!check(&c))
        client->is_multi_bad |= client->is_in_multi;
    else if (!is_lost_by_proxy(&c) && !queue_in_multi(&c))
        run(&c);
    if (was_asking && c.command && !has_keys(c.command))
        m->stray_askings++;
    if (was_asking)
        client->is_asking = false;
    if (was_caching)
        client->is_caching = false;
}

void md_execute(struct model_client *client, const struct slice *argv, int argc)
{
    struct model *m = client->m;
    int64_t offset = m->offset;

    m->now_ms = m->now_us / 1000;
    m->current = client;
    execute(client, argv, argc);
    m->current = NULL;
    md_add(&client->out, m->to_self.p, m->to_self.n);
    m->to_self.n = 0;
    md_tell_changes(m);
    md_send_effects(m);
    if (m->offset > offset)
        client->written_to = m->offset;
}

/* The queue was written by md_put_request, so that nothing can be wrong. */
void md_execute_queue(struct model_client *client, const struct bytes *queue)
{
    struct slice *argv = NULL;
    char *p = queue->p, *end = queue->p + queue->n;

    while (p < end) {
        int argc = (int)strtol(p + 1, &p, 10);

        argv = realloc(argv, (size_t)argc * sizeof *argv);
        p += 2;
        for (int i = 0; i < argc; i++) {
            argv[i].n = strtoul(p + 1, &p, 10);
            argv[i].p = p + 2;
            p += argv[i].n + 4;
        }
        execute(client, argv, argc);
    }
    free(argv);
}

/* ---- within scripts ---- */

static bool __attribute__((format(printf, 2, 0)))
say_of_script(struct call *c, const char *format)
{
    md_error(c, format, is_valkey(c->m) ? "" : "Redis ");
    return false;
}

static bool inner_form(struct call *c)
{
    c->command = md_command(c->m, c->argv, c->argc, &c->container);
    if (!c->command)
        return say_of_script(c, is_old(c->m)
                                    ? "ERR Unknown %scommand called from Lua "
                                      "script"
                                    : "ERR Unknown %scommand called from "
                                      "script");
    if (!has_arity(c) || !c->command->run)
        return say_of_script(c, is_old(c->m)
                                    ? "ERR Wrong number of args calling "
                                      "%scommand From Lua script"
                                    : "ERR Wrong number of args calling "
                                      "%scommand from script");
    if (c->command->flags & C_NO_SCRIPT)
        return say_of_script(c, is_old(c->m)
                                    ? "ERR This %scommand is not allowed from "
                                      "scripts"
                                    : "ERR This %scommand is not allowed from "
                                      "script");
    return true;
}

static bool say_refusal(struct call *c, const char *text)
{
    md_refusal(c, "%s", text);
    return false;
}

static bool inner_refuse(struct call *c, const char *refused)
{
    if (is_valkey(c->m)) {
        md_refusal(c, "ERR ACL failure in script: no permission for this %s",
                   refused);
        return false;
    }
    if (strcmp(refused, "command") == 0)
        return say_refusal(c, "ERR The user executing the script can't run this "
                      "command or subcommand");
    if (strcmp(refused, "key") == 0)
        return say_refusal(c, "ERR The user executing the script can't access at least "
                      "one of the keys mentioned in the command arguments");
    return say_refusal(c, "ERR The user executing the script can't publish to the "
                  "channel mentioned in the command");
}

static bool inner_check(struct call *c)
{
    const char *refused;

    if (!inner_form(c))
        return false;
    if (c->client->is_master)
        return true;
    if ((refused = md_refused(c)))
        return inner_refuse(c, refused);
    if (c->m->is_replica && c->command->flags & C_WRITE)
        return say(c, "READONLY You can't write against a read only replica.");
    if (!may_write(c))
        return false;
    if (c->m->is_full && c->command->flags & C_MEMORY &&
        !md_script_has_written(c->script))
        return say(c, "OOM command not allowed when used memory > "
                      "'maxmemory'.");
    return !before(c);
}

bool md_call_inner(struct call *c)
{
    bool may = inner_check(c);

    if (may)
        run(c);
    return may;
}
