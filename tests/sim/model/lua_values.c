/* Replies as Lua's values, and Lua's values as replies.
 * Source: redis.io, "Redis Lua API reference", "Data type conversion". */
#include "tests/sim/model/script.h"

#include <stdlib.h>

/* ---- reply to Lua ---- */

static const char *line_end(const char *p)
{
    while (p[0] != '\r' || p[1] != '\n')
        p++;
    return p;
}

static void push_field(lua_State *L, const char *field, const char *p,
                       size_t n)
{
    lua_createtable(L, 0, 1);
    lua_pushlstring(L, p, n);
    lua_setfield(L, -2, field);
}

static const char *push_elements(lua_State *L, const char *p, int64_t n)
{
    lua_createtable(L, (int)n, 0);
    for (int64_t i = 1; i <= n; i++) {
        p = md_push_reply(L, p);
        lua_rawseti(L, -2, (int)i);
    }
    return p;
}

/* {map = {...}} or {set = {member = true, ...}} */
static const char *push_table(lua_State *L, const char *p, int64_t n, bool is_map)
{
    lua_createtable(L, 0, 1);
    lua_createtable(L, 0, (int)n);
    for (int64_t i = 0; i < n; i++) {
        p = md_push_reply(L, p);
        if (is_map)
            p = md_push_reply(L, p);
        else
            lua_pushboolean(L, 1);
        lua_rawset(L, -3);
    }
    lua_setfield(L, -2, is_map ? "map" : "set");
    return p;
}

static const char *push_bulk(lua_State *L, const char *p, int64_t n)
{
    if (n < 0) {
        lua_pushboolean(L, 0);
        return p;
    }
    lua_pushlstring(L, p, (size_t)n);
    return p + n + 2;
}

static const char *push_array(lua_State *L, const char *p, int64_t n)
{
    if (n >= 0)
        return push_elements(L, p, n);
    lua_pushboolean(L, 0);
    return p;
}

static void push_double(lua_State *L, const char *p)
{
    lua_createtable(L, 0, 1);
    lua_pushnumber(L, strtod(p, NULL));
    lua_setfield(L, -2, "double");
}

/* The number of a reply, which this model has written. */
static int64_t number_at(const char *p)
{
    bool is_negative = *p == '-';
    uint64_t n = 0;

    for (p += is_negative; *p >= '0' && *p <= '9'; p++)
        n = 10 * n + (uint64_t)(*p - '0');
    return (int64_t)(is_negative ? -n : n);
}

const char *md_push_reply(lua_State *L, const char *p)
{
    const char *end = line_end(p);
    size_t len = (size_t)(end - p) - 1;

    switch (*p) {
    case '+': push_field(L, "ok", p + 1, len); return end + 2;
    case '-': push_field(L, "err", p + 1, len); return end + 2;
    case ':': lua_pushnumber(L, (lua_Number)number_at(p + 1)); break;
    case '$': return push_bulk(L, end + 2, number_at(p + 1));
    case '*': return push_array(L, end + 2, number_at(p + 1));
    case '%': return push_table(L, end + 2, number_at(p + 1), true);
    case '~': return push_table(L, end + 2, number_at(p + 1), false);
    case ',': push_double(L, p + 1); break;
    case '#': lua_pushboolean(L, p[1] == 't'); break;
    default: lua_pushnil(L); break; /* "_" */
    }
    return end + 2;
}

void md_push_error(lua_State *L, const char *text)
{
    lua_createtable(L, 0, 1);
    if (*text == '-' && strchr(text, ' '))
        lua_pushstring(L, text + 1);
    else
        lua_pushfstring(L, "ERR %s", text + (*text == '-'));
    lua_setfield(L, -2, "err");
}

/* ---- Lua to reply ---- */

/* Is there such a field of that type? Then it is on the stack, too. */
static bool has_field(lua_State *L, const char *field, int type)
{
    lua_pushstring(L, field);
    lua_rawget(L, -2);
    if (lua_type(L, -1) == type)
        return true;
    lua_pop(L, 1);
    return false;
}

static void put_line(struct call *c, char type, lua_State *L)
{
    size_t n, start;
    const char *p = lua_tolstring(L, -1, &n);

    md_add(c->out, &type, 1);
    start = c->out->n;
    md_add(c->out, p, n);
    for (size_t i = start; i < c->out->n; i++)
        if (c->out->p[i] == '\r' || c->out->p[i] == '\n')
            c->out->p[i] = ' ';
    md_add(c->out, "\r\n", 2);
    lua_pop(L, 1);
}

static size_t array_length(lua_State *L)
{
    size_t n = 0;
    bool is_nil = false;

    while (!is_nil) {
        lua_rawgeti(L, -1, (int)++n);
        is_nil = lua_isnil(L, -1);
        lua_pop(L, 1);
    }
    return n - 1;
}

static void put_array(lua_State *L, struct call *c, int script_protocol)
{
    size_t n = array_length(L);

    md_array(c, n);
    for (size_t i = 1; i <= n; i++) {
        lua_rawgeti(L, -1, (int)i);
        md_put_value(L, c, script_protocol);
    }
}

static size_t pair_count(lua_State *L)
{
    size_t n = 0;

    lua_pushnil(L);
    for (; lua_next(L, -2); lua_pop(L, 1))
        n++;
    return n;
}

static void put_pairs(lua_State *L, struct call *c, int script_protocol,
                      bool is_map)
{
    size_t n = pair_count(L);

    if (is_map)
        md_map(c, n);
    else
        md_set_of(c, n);
    lua_pushnil(L);
    while (lua_next(L, -2)) {
        lua_pushvalue(L, -2);
        md_put_value(L, c, script_protocol);
        if (is_map)
            md_put_value(L, c, script_protocol);
        else
            lua_pop(L, 1);
    }
    lua_pop(L, 1);
}

static void put_table(lua_State *L, struct call *c, int script_protocol)
{
    if (has_field(L, "err", LUA_TSTRING)) {
        put_line(c, '-', L);
    } else if (has_field(L, "ok", LUA_TSTRING)) {
        put_line(c, '+', L);
    } else if (has_field(L, "double", LUA_TNUMBER)) {
        md_real(c, lua_tonumber(L, -1));
        lua_pop(L, 1);
    } else if (has_field(L, "map", LUA_TTABLE)) {
        put_pairs(L, c, script_protocol, true);
    } else if (has_field(L, "set", LUA_TTABLE)) {
        put_pairs(L, c, script_protocol, false);
    } else {
        put_array(L, c, script_protocol);
    }
}

static void put_boolean(struct call *c, bool yes, int script_protocol)
{
    if (script_protocol == 3 && c->protocol == 3)
        md_add_text(c->out, yes ? "#t\r\n" : "#f\r\n");
    else if (script_protocol == 3 || yes)
        md_int(c, yes);
    else
        md_null(c);
}

void md_put_value(lua_State *L, struct call *c, int script_protocol)
{
    size_t n;
    const char *p;

    if (!lua_checkstack(L, 6)) {
        md_error(c, "ERR reached lua stack limit");
        lua_pop(L, 1);
        return;
    }
    switch (lua_type(L, -1)) {
    case LUA_TSTRING:
        p = lua_tolstring(L, -1, &n);
        md_bulk(c, (struct slice){p, n});
        break;
    case LUA_TBOOLEAN:
        put_boolean(c, lua_toboolean(L, -1), script_protocol);
        break;
    case LUA_TNUMBER: md_int(c, (int64_t)lua_tonumber(L, -1)); break;
    case LUA_TTABLE: put_table(L, c, script_protocol); break;
    default: md_null(c); break;
    }
    lua_pop(L, 1);
}
