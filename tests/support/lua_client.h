/* The other side of a lock: what a Redisson process does to it, by EVAL over
 * hiredis. Written after the numbered steps of WIRE, with none of our own
 * scripts in sight.
 *
 * Each call asks through the witness (server_ask) and answers as that does:
 * "(nil)", a number, or "(error) ...". Threads: as server_ask. */
#ifndef TEST_LUA_CLIENT_H
#define TEST_LUA_CLIENT_H

#include <stddef.h>

struct server;

/* A holder id H: some other instance's UUID, thread 1 or 2. */
#define LUA_HOLDER "6e3814a1-e847-452b-a982-45baf93a1df2:1"
#define LUA_HOLDER_2 "6e3814a1-e847-452b-a982-45baf93a1df2:2"

/* lua_acquire       - "(nil)": acquired, or once more; else the TTL in ms (-1:
 *                     none). WIRE 8.1.
 * lua_release       - "1" free, "0" one less, "(nil)" not held by `holder`; a
 *                     partial one sets the TTL to `lease_ms`. The latch key is
 *                     deleted after it, as Redisson does. WIRE 8.2.
 * lua_force_release - "1", or "0": it was not locked. WIRE 8.3.
 * lua_renew         - "1", or "0": not held by `holder`. WIRE 6. */
const char *lua_acquire(struct server *s, const void *name, size_t len,
                        const char *holder, long long lease_ms);
const char *lua_release(struct server *s, const void *name, size_t len,
                        const char *holder, long long lease_ms);
const char *lua_force_release(struct server *s, const void *name, size_t len);
const char *lua_renew(struct server *s, const void *name, size_t len,
                      const char *holder, long long watchdog_ms);

/* lua_channel - "redisson_lock__channel:{name}" (WIRE 2.2), for free(). */
char *lua_channel(const void *name, size_t len, size_t *channel_len);

#endif
