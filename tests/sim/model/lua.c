/* Scripts, by Lua 5.1. There is one interpreter for all models of the process:
 * scripts cannot change what is global, so that none sees another's traces, and
 * each text is compiled once.
 *
 * What is missing, for no script of locks needs it: cjson, cmsgpack, struct, bit,
 * redis.breakpoint, scripts that begin with "#!". */
#include "tests/sim/model/lua_lines.h"
#include "tests/sim/model/script.h"

#include <lua5.1/lauxlib.h>
#include <lua5.1/lualib.h>
#include <stdio.h>
#include <stdlib.h>

/* Compiled scripts are kept up to so many; then all are forgotten. */
#define MOST_SCRIPTS 4096

/* A script that takes longer would stop a real server for seconds. */
#define MOST_INSTRUCTIONS 100000000

static lua_State *L;
static int compiled;
static struct script_run *running;
static struct bytes reply;            /* of a command of a script */
static struct slice *args;
static size_t args_room;
static unsigned short random_state[3];

bool md_script_has_written(const struct script_run *s)
{
    return s->has_written;
}

/* ---- redis.* ---- */

static bool is_old(void)
{
    return running->outer->m->options.version == MODEL_REDIS_6_0;
}

/* Before Redis 7 an error of the interpreter begins with where, not with ERR. */
static void push_complaint(lua_State *l, const char *text)
{
    lua_Debug at;

    if (!is_old() || !lua_getstack(l, 1, &at) || !lua_getinfo(l, "Sl", &at)) {
        md_push_error(l, text);
        return;
    }
    lua_createtable(l, 0, 1);
    lua_pushfstring(l, "%s: %d: %s", at.source, at.currentline, text);
    lua_setfield(l, -2, "err");
}

/* The error's table is on the stack; before Redis 7 its text is raised. */
static int raise_reply(lua_State *l)
{
    if (is_old())
        lua_getfield(l, -1, "err");
    return lua_error(l);
}

static int raise_text(lua_State *l, const char *text)
{
    push_complaint(l, text);
    return raise_reply(l);
}

static int give_error(lua_State *l, const char *text, bool raises)
{
    push_complaint(l, text);
    return raises ? raise_reply(l) : 1;
}

/* Numbers as "%.17g"; false if an argument is neither number nor string. */
static bool take_args(lua_State *l, int argc)
{
    while (args_room < (size_t)argc)
        args = md_grow(args, args_room, &args_room, sizeof *args);
    for (int i = 1; i <= argc; i++) {
        char text[64];
        int type = lua_type(l, i);

        if (type == LUA_TNUMBER) {
            lua_pushlstring(l, text, md_format_double(text, lua_tonumber(l, i)));
            lua_replace(l, i);
        } else if (type != LUA_TSTRING)
            return false;
        args[i - 1].p = lua_tolstring(l, i, &args[i - 1].n);
    }
    return true;
}

/* Why a command was not run, in the words of 6.0. */
static const char *refusal(void)
{
    reply.p[reply.n - 2] = '\0';
    return strncmp(reply.p, "-ERR ", 5) == 0 ? reply.p + 5 : reply.p;
}

static int call_redis(lua_State *l, bool raises)
{
    struct script_run *s = running;
    struct call c = *s->outer;
    int argc = lua_gettop(l);

    if (argc == 0)
        return give_error(l, "Please specify at least one argument for this "
                             "redis lib call", raises);
    if (!take_args(l, argc))
        return give_error(l, "Lua redis lib command arguments must be strings "
                             "or integers", raises);
    reply.n = 0;
    c.argv = args;
    c.argc = argc;
    c.out = &reply;
    c.protocol = s->protocol;
    c.script = s;
    c.db = &c.m->dbs[c.client->db];
    if (!md_call_inner(&c) && is_old())
        return give_error(l, refusal(), raises);
    md_add(&reply, "", 1);
    s->has_written |= c.changed && c.command->flags & C_WRITE;
    (void)md_push_reply(l, reply.p);
    return raises && reply.p[0] == '-' ? raise_reply(l) : 1;
}

static int lua_call_redis(lua_State *l)
{
    return call_redis(l, true);
}

static int lua_pcall_redis(lua_State *l)
{
    return call_redis(l, false);
}

static int one_field(lua_State *l, const char *field)
{
    if (lua_gettop(l) != 1 || lua_type(l, 1) != LUA_TSTRING) {
        push_complaint(l, "wrong number or type of arguments");
        return 1;
    }
    lua_createtable(l, 0, 1);
    lua_pushvalue(l, 1);
    lua_setfield(l, -2, field);
    return 1;
}

static int lua_status_reply(lua_State *l)
{
    return one_field(l, "ok");
}

static int lua_error_reply(lua_State *l)
{
    const char *text;

    if (is_old() || lua_gettop(l) != 1 || lua_type(l, 1) != LUA_TSTRING)
        return one_field(l, "err");
    text = lua_tostring(l, 1);
    md_push_error(l, *text == '-' ? text : lua_pushfstring(l, "-%s", text));
    return 1;
}

static int lua_sha1hex(lua_State *l)
{
    char hex[41];
    struct slice s;

    if (lua_gettop(l) != 1)
        return raise_text(l, "wrong number of arguments");
    s.p = luaL_checklstring(l, 1, &s.n);
    md_sha1_hex(s, hex);
    lua_pushstring(l, hex);
    return 1;
}

static int lua_setresp(lua_State *l)
{
    int protocol = lua_gettop(l) == 1 ? (int)lua_tonumber(l, 1) : 0;

    if (lua_gettop(l) != 1)
        return raise_text(l, "redis.setresp() requires one argument.");
    if (protocol != 2 && protocol != 3)
        return raise_text(l, "RESP version must be 2 or 3.");
    running->protocol = protocol;
    return 0;
}

static int lua_log(lua_State *l)
{
    (void)l;
    return 0;
}

static int lua_true(lua_State *l)
{
    lua_pushboolean(l, 1);
    return 1;
}

/* The same numbers at each run of a script, as before Redis 7. */
static int lua_random(lua_State *l)
{
    double r = (double)(nrand48(random_state) % 2147483647) / 2147483647.0;

    if (lua_gettop(l) == 0) {
        lua_pushnumber(l, r);
        return 1;
    }
    int low = lua_gettop(l) > 1 ? luaL_checkint(l, 1) : 1;
    int high = luaL_checkint(l, lua_gettop(l) > 1 ? 2 : 1);

    luaL_argcheck(l, low <= high, 1, "interval is empty");
    lua_pushnumber(l, (double)(int)(r * (high - low + 1)) + low);
    return 1;
}

static int lua_randomseed(lua_State *l)
{
    unsigned seed = (unsigned)luaL_checkint(l, 1);

    random_state[0] = 0x330E;
    random_state[1] = (unsigned short)seed;
    random_state[2] = (unsigned short)(seed >> 16);
    return 0;
}

/* ---- the interpreter ---- */

static int no_such_global(lua_State *l)
{
    return luaL_error(l, "Script attempted to access nonexistent global "
                         "variable '%s'", lua_tostring(l, 2));
}

static int no_new_global(lua_State *l)
{
    return luaL_error(l, "Attempt to modify a readonly table");
}

/* What 6.0 says: where, and the text. */
static int on_old_error(lua_State *l, const lua_Debug *at)
{
    const char *text = lua_tostring(l, 1);

    lua_pushfstring(l, "%s:%d: %s", at->source, at->currentline,
                    text ? text : "(error object)");
    return 1;
}

/* Where the script is: not in a function of C. */
static bool find_script(lua_State *l, lua_Debug *at)
{
    for (int level = 1; level <= 2; level++)
        if (lua_getstack(l, level, at) && lua_getinfo(l, "nSl", at) &&
            *at->what != 'C')
            return true;
    return false;
}

/* Says where: `source` and `line` of the script, in the error's table. */
static int on_error(lua_State *l)
{
    lua_Debug at;
    bool is_found = find_script(l, &at);

    if (is_old() && is_found)
        return on_old_error(l, &at);
    if (!lua_istable(l, 1)) {
        const char *text = lua_tostring(l, 1);

        lua_createtable(l, 0, 3);
        lua_pushfstring(l, "ERR %s", text ? text : "(error object)");
        lua_setfield(l, -2, "err");
        lua_replace(l, 1);
    }
    if (is_found) {
        lua_pushstring(l, at.source);
        lua_setfield(l, 1, "source");
        lua_pushinteger(l, at.currentline);
        lua_setfield(l, 1, "line");
    }
    lua_settop(l, 1);
    return 1;
}

static const luaL_Reg redis_functions[] = {
    {"call", lua_call_redis},
    {"pcall", lua_pcall_redis},
    {"status_reply", lua_status_reply},
    {"error_reply", lua_error_reply},
    {"sha1hex", lua_sha1hex},
    {"setresp", lua_setresp},
    {"log", lua_log},
    {"replicate_commands", lua_true},
    {"set_repl", lua_log},
    {NULL, NULL},
};

static void open_library(const char *name, lua_CFunction open)
{
    lua_pushcfunction(L, open);
    lua_pushstring(L, name);
    lua_call(L, 1, 0);
}

static void add_redis(void)
{
    static const char *const levels[] = {"LOG_DEBUG", "LOG_VERBOSE",
                                         "LOG_NOTICE", "LOG_WARNING"};

    luaL_register(L, "redis", redis_functions);
    for (int i = 0; i < 4; i++) {
        lua_pushinteger(L, i);
        lua_setfield(L, -2, levels[i]);
    }
    lua_pushvalue(L, -1);
    lua_setglobal(L, "server");
    lua_pop(L, 1);
    lua_getglobal(L, "math");
    lua_pushcfunction(L, lua_random);
    lua_setfield(L, -2, "random");
    lua_pushcfunction(L, lua_randomseed);
    lua_setfield(L, -2, "randomseed");
    lua_pop(L, 1);
}

/* Scripts see the globals through an empty table that refuses new ones. */
static void protect_globals(void)
{
    static const char *const removed[] = {"print", "dofile", "loadfile",
                                          "newproxy", "debug"};

    for (size_t i = 0; i < sizeof removed / sizeof *removed; i++) {
        lua_pushnil(L);
        lua_setglobal(L, removed[i]);
    }
    lua_createtable(L, 0, 1);
    lua_pushcfunction(L, no_such_global);
    lua_setfield(L, -2, "__index");
    lua_setmetatable(L, LUA_GLOBALSINDEX);
    lua_newtable(L);
    lua_createtable(L, 0, 2);
    lua_pushvalue(L, LUA_GLOBALSINDEX);
    lua_setfield(L, -2, "__index");
    lua_pushcfunction(L, no_new_global);
    lua_setfield(L, -2, "__newindex");
    lua_setmetatable(L, -2);
    lua_setfield(L, LUA_REGISTRYINDEX, "environment");
    lua_newtable(L);
    lua_setfield(L, LUA_REGISTRYINDEX, "scripts");
}

static void close_lua(void)
{
    if (L)
        md_lua_close(L);
    L = NULL;
    md_bytes_free(&reply);
    free(args);
    args = NULL;
    args_room = 0;
}

static void open_lua(void)
{
    static bool is_known;

    if (L && compiled < MOST_SCRIPTS)
        return;
    if (L)
        md_lua_close(L);
    compiled = 0;
    if (!is_known)
        (void)atexit(close_lua);
    is_known = true;
    if (!(L = md_lua_new()))
        abort();
    (void)lua_gc(L, LUA_GCSETPAUSE, 400); /* in percent: memory is cheap here */
    open_library("", luaopen_base);
    open_library(LUA_TABLIBNAME, luaopen_table);
    open_library(LUA_STRLIBNAME, luaopen_string);
    open_library(LUA_MATHLIBNAME, luaopen_math);
    add_redis();
    protect_globals();
}

/* ---- running ---- */

/* Leaves the compiled script on the stack; or replies an error. */
static bool push_script(struct call *c, struct slice text, const char *sha)
{
    lua_getfield(L, LUA_REGISTRYINDEX, "scripts");
    lua_getfield(L, -1, sha);
    if (lua_isfunction(L, -1)) {
        lua_remove(L, -2);
        return true;
    }
    lua_pop(L, 1);
    if (luaL_loadbuffer(L, text.p, text.n, "@user_script")) {
        md_error(c, c->m->options.version == MODEL_REDIS_6_0
                        ? "ERR Error compiling script (new function): %s"
                        : "ERR Error compiling script (new function): %s",
                 lua_tostring(L, -1));
        lua_pop(L, 2);
        return false;
    }
    compiled++;
    lua_getfield(L, LUA_REGISTRYINDEX, "environment");
    (void)lua_setfenv(L, -2);
    lua_pushvalue(L, -1);
    lua_setfield(L, -3, sha);
    lua_remove(L, -2);
    return true;
}

bool md_script_compiles(struct call *c, struct slice text, const char *sha)
{
    open_lua();
    if (!push_script(c, text, sha))
        return false;
    lua_pop(L, 1);
    return true;
}

static void set_list(const char *name, const struct slice *words, int n)
{
    lua_pushstring(L, name);
    lua_createtable(L, n, 0);
    for (int i = 0; i < n; i++) {
        lua_pushlstring(L, words[i].p, words[i].n);
        lua_rawseti(L, -2, i + 1);
    }
    lua_rawset(L, LUA_GLOBALSINDEX);
}

static const char *text_field(const char *name)
{
    const char *text;

    lua_getfield(L, -1, name);
    text = lua_tostring(L, -1);
    lua_pop(L, 1);
    return text;
}

/* The error's table is on the stack, and stays there. */
static void reply_failure(struct call *c, const char *sha)
{
    const char *text, *source;

    if (lua_isstring(L, -1)) {
        md_error(c, "ERR Error running script (call to f_%s): %s", sha,
                 lua_tostring(L, -1));
        return;
    }
    lua_pushvalue(L, -1);
    text = text_field("err");
    source = text_field("source");
    if (!text)
        md_error(c, "ERR unknown error script: %s, on @user_script:1.", sha);
    else if (source)
        md_error(c, "%s script: %s, on %s:%s.", text, sha, source,
                 text_field("line"));
    else
        md_error(c, "%s", text);
    lua_pop(L, 1);
}

static void too_long(lua_State *l, lua_Debug *at)
{
    (void)at;
    (void)luaL_error(l, "the script runs for too long for a model");
}

static struct model_text word_at(const struct call *c, int64_t i)
{
    return i < c->argc ? (struct model_text){c->argv[i].p, c->argv[i].n}
                       : (struct model_text){"", 0};
}

static void tell_observer(const struct call *c, int64_t keys, const char *sha)
{
    const struct model_observer *o = &c->m->observer;
    struct model_script s = {
        sha, {"", 0}, {word_at(c, 3 + keys), word_at(c, 4 + keys)}, (size_t)keys};

    if (keys > 0)
        s.key = word_at(c, 3);
    if (o->on_script)
        o->on_script(o->ctx, c->m, &s);
}

void md_eval(struct call *c, struct slice text, const char *sha)
{
    struct script_run s = {c, sha, 2, false};
    int64_t keys = 0;

    (void)md_integer(c->argv[2], &keys);
    open_lua();
    lua_settop(L, 0);
    lua_pushcfunction(L, on_error);
    if (!push_script(c, text, sha)) {
        lua_settop(L, 0);
        return;
    }
    set_list("KEYS", c->argv + 3, (int)keys);
    set_list("ARGV", c->argv + 3 + keys, c->argc - 3 - (int)keys);
    random_state[0] = 0x330E;
    random_state[1] = random_state[2] = 0;
    running = &s;
    md_lines_watch(L, sha, text, too_long, MOST_INSTRUCTIONS);
    c->m->script_sha = sha;
    if (lua_pcall(L, 0, 1, 1))
        reply_failure(c, sha);
    else
        md_put_value(L, c, s.protocol);
    running = NULL;
    lua_settop(L, 0);
    tell_observer(c, keys, sha);
}
