/* Users, and what they may do: commands by name, keys and channels by pattern.
 * Of categories there are only @all and @dangerous. */
#include "tests/sim/model/inner.h"

#include <stdlib.h>

struct patterns {
    struct blob **at;
    size_t n, room;
    bool has_all;
};

/* "+get" or "-client|kill". The last one that fits decides. */
struct user {
    struct user *next;
    struct blob *name;
    bool is_on;
    bool is_open;             /* nopass */
    struct patterns passwords, keys, channels, commands;
    bool has_all_commands;    /* before `commands` */
};

/* ---- lists of words ---- */

static void add_word(struct patterns *p, struct slice word)
{
    p->at = md_grow(p->at, p->n, &p->room, sizeof *p->at);
    p->at[p->n++] = md_blob(word);
}

static void clear(struct patterns *p)
{
    while (p->n > 0)
        free(p->at[--p->n]);
    p->has_all = false;
}

static void remove_word(struct patterns *p, struct slice word)
{
    size_t n = 0;

    for (size_t i = 0; i < p->n; i++) {
        if (md_same(md_slice(p->at[i]), word))
            free(p->at[i]);
        else
            p->at[n++] = p->at[i];
    }
    p->n = n;
}

static bool some_fits(const struct patterns *p, struct slice s)
{
    for (size_t i = 0; i < p->n; i++)
        if (md_glob(md_slice(p->at[i]), s))
            return true;
    return p->has_all;
}

/* ---- users ---- */

struct user *md_user(const struct model *m, struct slice name)
{
    struct user *u = m->users;

    while (u && !md_same(md_slice(u->name), name))
        u = u->next;
    return u;
}

static struct user *make_user(struct model *m, struct slice name)
{
    struct user *u = md_user(m, name);

    if (u)
        return u;
    u = md_alloc(sizeof *u);
    u->name = md_blob(name);
    u->next = m->users;
    m->users = u;
    return u;
}

bool md_password_fits(const struct user *u, struct slice password)
{
    for (size_t i = 0; u->is_on && i < u->passwords.n; i++)
        if (md_same(md_slice(u->passwords.at[i]), password))
            return true;
    return u->is_on && u->is_open;
}

bool md_user_is_open(const struct user *u)
{
    return u->is_on && u->is_open;
}

const char *md_user_name(const struct user *u)
{
    return u->name->p;
}

static void allow_all(struct user *u)
{
    clear(&u->commands);
    u->keys.has_all = u->channels.has_all = u->has_all_commands = true;
}

void md_acl_init(struct model *m, const char *password)
{
    struct user *u = make_user(m, md_text("default"));

    u->is_on = true;
    u->is_open = !password;
    allow_all(u);
    if (password)
        add_word(&u->passwords, md_text(password));
}

static void free_user(struct user *u)
{
    struct patterns *all[] = {&u->passwords, &u->keys, &u->channels,
                              &u->commands};

    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        clear(all[i]);
        free(all[i]->at);
    }
    free(u->name);
    free(u);
}

void md_acl_free(struct model *m)
{
    while (m->users) {
        struct user *u = m->users;

        m->users = u->next;
        free_user(u);
    }
}

/* ---- rules ---- */

static void set_commands(struct user *u, struct slice word)
{
    struct slice name = {word.p + 1, word.n - 1};

    if (md_is(name, "@all")) {
        clear(&u->commands);
        u->has_all_commands = word.p[0] == '+';
    } else {
        add_word(&u->commands, word);
    }
}

static void reset_user(struct user *u)
{
    clear(&u->passwords);
    clear(&u->keys);
    clear(&u->channels);
    clear(&u->commands);
    u->is_on = u->is_open = u->has_all_commands = false;
}

/* Words that stand alone. */
static bool apply_word(struct user *u, struct slice w)
{
    if (md_is(w, "on") || md_is(w, "off"))
        u->is_on = md_is(w, "on");
    else if (md_is(w, "nopass"))
        u->is_open = true, clear(&u->passwords);
    else if (md_is(w, "resetpass"))
        u->is_open = false, clear(&u->passwords);
    else if (md_is(w, "allkeys"))
        u->keys.has_all = true;
    else if (md_is(w, "resetkeys"))
        clear(&u->keys);
    else if (md_is(w, "allchannels"))
        u->channels.has_all = true;
    else if (md_is(w, "resetchannels"))
        clear(&u->channels);
    else if (md_is(w, "allcommands"))
        set_commands(u, md_text("+@all"));
    else if (md_is(w, "nocommands"))
        set_commands(u, md_text("-@all"));
    else if (md_is(w, "reset"))
        reset_user(u);
    else
        return false;
    return true;
}

static bool apply_rule(struct user *u, struct slice w)
{
    struct slice rest = {w.p + 1, w.n - 1};

    if (apply_word(u, w))
        return true;
    switch (w.n > 1 ? w.p[0] : '\0') {
    case '>':
        u->is_open = false;
        remove_word(&u->passwords, rest);
        add_word(&u->passwords, rest);
        return true;
    case '<': remove_word(&u->passwords, rest); return true;
    case '~': add_word(&u->keys, rest); return true;
    case '&': add_word(&u->channels, rest); return true;
    case '+':
    case '-': set_commands(u, w); return true;
    default: return false;
    }
}

/* ---- may it? ---- */

static bool rule_fits(struct slice rule, const struct call *c)
{
    const char *bar = memchr(rule.p, '|', rule.n);
    struct slice name = {rule.p, bar ? (size_t)(bar - rule.p) : rule.n};
    const struct command *top = c->container ? c->container : c->command;

    if (md_is(name, "@dangerous"))
        return c->command->flags & C_ADMIN;
    if (!md_is(name, top->name))
        return false;
    return !bar || (c->container &&
                    md_is((struct slice){bar + 1, rule.n - name.n - 1},
                          c->command->name));
}

static bool may_run(const struct user *u, const struct call *c)
{
    bool may = u->has_all_commands;

    for (size_t i = 0; i < u->commands.n; i++) {
        struct slice rule = md_slice(u->commands.at[i]);

        if (rule_fits((struct slice){rule.p + 1, rule.n - 1}, c))
            may = rule.p[0] == '+';
    }
    return may;
}

static bool may_touch_keys(const struct user *u, const struct call *c)
{
    int at;

    if (u->keys.has_all || c->command->flags & C_CHANNEL)
        return true;
    for (int i = 0;
         (at = md_key_position(c->command, c->argv, c->argc, i)) > 0; i++)
        if (!some_fits(&u->keys, c->argv[at]))
            return false;
    return true;
}

static bool may_use_channels(const struct user *u, const struct call *c)
{
    bool publishes = c->command->arity > 0;

    if (u->channels.has_all || !(c->command->flags & C_CHANNEL))
        return true;
    for (int i = 1; i < (publishes ? 2 : c->argc); i++)
        if (!some_fits(&u->channels, c->argv[i]))
            return false;
    return true;
}

const char *md_refused(const struct call *c)
{
    const struct user *u = c->client->user;

    if (!may_run(u, c))
        return "command";
    if (!may_touch_keys(u, c))
        return "key";
    return may_use_channels(u, c) ? NULL : "channel";
}

/* ---- commands ---- */

static void run_setuser(struct call *c)
{
    struct user *u = make_user(c->m, c->argv[2]);

    for (int i = 3; i < c->argc; i++) {
        if (apply_rule(u, c->argv[i]))
            continue;
        md_error(c, "ERR Error in ACL SETUSER modifier '%.*s': Syntax error",
                 (int)c->argv[i].n, c->argv[i].p);
        return;
    }
    md_ok(c);
}

/* Connections of a user that is gone are closed. */
static bool drop_user(struct model *m, struct slice name)
{
    struct user **at = &m->users, *u = md_user(m, name);

    if (!u || md_is(name, "default"))
        return false;
    for (struct model_client *c = m->clients.next; c != &m->clients;
         c = c->next)
        if (c->user == u) {
            c->user = md_user(m, md_text("default"));
            c->is_authenticated = false;
            md_close(c);
        }
    while (*at != u)
        at = &(*at)->next;
    *at = u->next;
    free_user(u);
    return true;
}

static void run_deluser(struct call *c)
{
    int n = 0;

    for (int i = 2; i < c->argc; i++)
        n += drop_user(c->m, c->argv[i]);
    md_int(c, n);
}

static void run_whoami(struct call *c)
{
    md_bulk_text(c, md_user_name(c->client->user));
}

static void run_users(struct call *c)
{
    size_t n = 0;

    for (const struct user *u = c->m->users; u; u = u->next)
        n++;
    md_array(c, n);
    for (const struct user *u = c->m->users; u; u = u->next)
        md_bulk(c, md_slice(u->name));
}

static const struct command acl_sub[] = {
    {"setuser", -3, C_NO_SCRIPT | C_LOADING | C_ADMIN, .run = run_setuser},
    {"deluser", -3, C_NO_SCRIPT | C_LOADING | C_ADMIN, .run = run_deluser},
    {"whoami", 2, C_NO_SCRIPT | C_LOADING, .run = run_whoami},
    {"users", 2, C_NO_SCRIPT | C_LOADING | C_ADMIN, .run = run_users},
    {.name = NULL},
};

const struct command md_acl_commands[] = {
    {"acl", -2, C_NO_SCRIPT | C_LOADING, .sub = acl_sub},
    {.name = NULL},
};

/* One word of a text, which then stands behind it. */
static struct slice next_word(const char **text)
{
    struct slice w = {*text, strcspn(*text, " ")};

    *text += w.n + ((*text)[w.n] == ' ');
    return w;
}

static bool set_user(struct model *m, const char *words)
{
    struct user *u = make_user(m, next_word(&words));
    bool ok = true;

    while (*words)
        ok &= apply_rule(u, next_word(&words));
    return ok;
}

bool model_acl(struct model *m, const char *words)
{
    struct slice verb = next_word(&words);
    bool ok = md_is(verb, "setuser")   ? set_user(m, words)
              : md_is(verb, "deluser") ? drop_user(m, md_text(words))
                                       : false;

    md_flush(m);
    return ok;
}
