/* Which lines of scripts are run. In the usual build nothing is counted
 * (lua_lines_none.c); make sim-coverage links lua_lines.c. */
#ifndef SIM_LUA_LINES_H
#define SIM_LUA_LINES_H

#include "tests/sim/model/script.h"

/* md_lines_watch - the compiled script on top of the stack is about to run: counts its
 *                  lines from now on. `often` is called after so many instructions, as
 *                  lua_sethook does. */
void md_lines_watch(lua_State *L, const char *sha, struct slice text, lua_Hook often,
                    int instructions);

#endif
