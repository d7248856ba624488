/* What the two halves of the Lua interpreter share: lua.c runs scripts,
 * lua_values.c turns replies into Lua's values and back. */
#ifndef SIM_SCRIPT_H
#define SIM_SCRIPT_H

#include "tests/sim/model/inner.h"

#include <lua5.1/lua.h>

/* The script that is running; there is one at a time. */
struct script_run {
    struct call *outer;
    const char *sha;
    int protocol;             /* redis.setresp */
    bool has_written;
};

/* The interpreter, and all its memory. */
lua_State *md_lua_new(void);
void md_lua_close(lua_State *L);

/* Pushes the reply at `p` onto the stack; returns what is behind it. */
const char *md_push_reply(lua_State *L, const char *p);

/* Writes the value on top of the stack as the script's reply, and pops it. */
void md_put_value(lua_State *L, struct call *c, int script_protocol);

/* Pushes {err = "CODE text"}; "-CODE text" or "text" (which becomes ERR). */
void md_push_error(lua_State *L, const char *text);

#endif
