/* What a Redisson process does to a lock, by EVAL. */
#include "tests/support/lua_client.h"

#include <stdlib.h>
#include <string.h>

#include "tests/support/local.h"
#include "tests/support/server.h"

/* WIRE 8.1. KEYS: N. ARGV: lease, H. */
static const char acquire[] =
    "if redis.call('exists', KEYS[1]) == 0 or"
    "   redis.call('hexists', KEYS[1], ARGV[2]) == 1 then"
    "  redis.call('hincrby', KEYS[1], ARGV[2], 1)"
    "  redis.call('pexpire', KEYS[1], ARGV[1])"
    "  return nil "
    "end "
    "return redis.call('pttl', KEYS[1])";

/* WIRE 8.2. KEYS: N, C, latch. ARGV: payload, lease, H, PUBLISH, latch TTL. */
static const char release[] =
    "local latch = redis.call('get', KEYS[3]) "
    "if latch then return tonumber(latch) end "
    "if redis.call('hexists', KEYS[1], ARGV[3]) == 0 then return nil end "
    "if redis.call('hincrby', KEYS[1], ARGV[3], -1) > 0 then"
    "  redis.call('pexpire', KEYS[1], ARGV[2])"
    "  redis.call('set', KEYS[3], 0, 'px', ARGV[5])"
    "  return 0 "
    "end "
    "redis.call('del', KEYS[1]) "
    "redis.call(ARGV[4], KEYS[2], ARGV[1]) "
    "redis.call('set', KEYS[3], 1, 'px', ARGV[5]) "
    "return 1";

/* WIRE 8.3. KEYS: N, C. ARGV: payload, PUBLISH. */
static const char force_release[] =
    "if redis.call('del', KEYS[1]) == 1 then"
    "  redis.call(ARGV[2], KEYS[2], ARGV[1])"
    "  return 1 "
    "end "
    "return 0";

/* WIRE 6, of one lock. KEYS: N. ARGV: lockWatchdogTimeout, H. */
static const char renew[] =
    "if redis.call('hexists', KEYS[1], ARGV[2]) == 1 then"
    "  redis.call('pexpire', KEYS[1], ARGV[1])"
    "  return 1 "
    "end "
    "return 0";

#define LATCH "redisson_unlock_latch:{n}:0123456789abcdef0123456789abcdef"

char *lua_channel(const void *name, size_t len, size_t *channel_len)
{
    static const char prefix[] = "redisson_lock__channel:";
    const char *open = memchr(name, '{', len) ? "" : "{";
    char *channel = local_new(sizeof prefix + len + 2);
    size_t n = sizeof prefix - 1;

    memcpy(channel, prefix, n);
    memcpy(channel + n, open, strlen(open));
    n += strlen(open);
    memcpy(channel + n, name, len);
    n += len;
    if (*open)
        channel[n++] = '}';
    *channel_len = n;
    return channel;
}

const char *lua_acquire(struct server *s, const void *name, size_t len,
                        const char *holder, long long lease_ms)
{
    return server_ask(s, "EVAL %s 1 %b %lld %s", acquire, name, len, lease_ms,
                      holder);
}

const char *lua_release(struct server *s, const void *name, size_t len,
                        const char *holder, long long lease_ms)
{
    size_t channel_len;
    char *channel = lua_channel(name, len, &channel_len);
    const char *answer =
        server_ask(s, "EVAL %s 3 %b %b %s 0 %lld %s PUBLISH 15000", release,
                   name, len, channel, channel_len, LATCH, lease_ms, holder);

    (void)server_ask(s, "DEL %s", LATCH);
    free(channel);
    return answer;
}

const char *lua_force_release(struct server *s, const void *name, size_t len)
{
    size_t channel_len;
    char *channel = lua_channel(name, len, &channel_len);
    const char *answer = server_ask(s, "EVAL %s 2 %b %b 0 PUBLISH",
                                    force_release, name, len, channel,
                                    channel_len);

    free(channel);
    return answer;
}

const char *lua_renew(struct server *s, const void *name, size_t len,
                      const char *holder, long long watchdog_ms)
{
    return server_ask(s, "EVAL %s 1 %b %lld %s", renew, name, len, watchdog_ms,
                      holder);
}
