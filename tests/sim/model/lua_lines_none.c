/* No line of a script is counted. */
#include "tests/sim/model/lua_lines.h"

void md_lines_watch(lua_State *L, const char *sha, struct slice text, lua_Hook often,
                    int instructions)
{
    (void)sha;
    (void)text;
    lua_sethook(L, often, LUA_MASKCOUNT, instructions);
}
