/* What Redisson's scripts do, by the numbered steps of WIRE: data for the trial
 * of the model. Each with how it is called: numkeys, KEYS, ARGV. Of the letters
 * behind %: l lock, o owner, w its write field, c channel, t lease, and so on as
 * in model_words.c. */
#ifndef TEST_MODEL_REDISSON_H
#define TEST_MODEL_REDISSON_H

#include "tests/support/redisson_fair.h"

struct redisson_script {
    const char *call;
    const char *text;
};

#define LATCH(i)                                                              \
    "local latch = redis.call('get', KEYS[" #i "]) "                          \
    "if latch then return tonumber(latch) end "

#define REAP                                                                  \
    "local old = redis.call('zrangebyscore', KEYS[2], 0, ARGV[3], 'limit', "  \
    "0, ARGV[1]) "                                                            \
    "if #old > 0 then redis.call('zrem', KEYS[2], unpack(old)) "              \
    "  local v = redis.call('incrby', KEYS[1], #old) "                        \
    "  if v > 0 then redis.call(ARGV[5], KEYS[3], v) end end "

static const struct redisson_script redisson_scripts[] = {
    /* 8.1 */
    {"1 %l %t %o",
     "if redis.call('exists', KEYS[1]) == 0 or "
     "   redis.call('hexists', KEYS[1], ARGV[2]) == 1 then "
     "  redis.call('hincrby', KEYS[1], ARGV[2], 1) "
     "  redis.call('pexpire', KEYS[1], ARGV[1]) return nil end "
     "return redis.call('pttl', KEYS[1])"},
    /* 8.2 */
    {"3 %l %c %L 0 %t %o %p 100000",
     LATCH(3)
     "if redis.call('hexists', KEYS[1], ARGV[3]) == 0 then return nil end "
     "if redis.call('hincrby', KEYS[1], ARGV[3], -1) > 0 then "
     "  redis.call('pexpire', KEYS[1], ARGV[2]) "
     "  redis.call('set', KEYS[3], 0, 'px', ARGV[5]) return 0 end "
     "redis.call('del', KEYS[1]) redis.call(ARGV[4], KEYS[2], ARGV[1]) "
     "redis.call('set', KEYS[3], 1, 'px', ARGV[5]) return 1"},
    /* 8.3 */
    {"2 %l %c 0 %p",
     "if redis.call('del', KEYS[1]) == 1 then "
     "  redis.call(ARGV[2], KEYS[2], ARGV[1]) return 1 end return 0"},
    /* 6 */
    {"2 %l %k %t %o %o",
     "local r = {} for i = 1, #KEYS do "
     "  if redis.call('hexists', KEYS[i], ARGV[i + 1]) == 1 then "
     "    redis.call('pexpire', KEYS[i], ARGV[1]) r[i] = 1 "
     "  else r[i] = 0 end end return r"},
    /* 9.1 */
    {"1 %l %t %o NON_REENTRANT_REACQUIRE",
     "if redis.call('exists', KEYS[1]) == 0 then "
     "  redis.call('hincrby', KEYS[1], ARGV[2], 1) "
     "  redis.call('pexpire', KEYS[1], ARGV[1]) return nil end "
     "if redis.call('hexists', KEYS[1], ARGV[2]) == 1 then "
     "  return redis.error_reply(ARGV[3]) end "
     "return redis.call('pttl', KEYS[1])"},
    /* 10.1, 10.2 */
    {"2 %l %T %t %o",
     "if redis.call('exists', KEYS[1]) == 0 or "
     "   redis.call('hexists', KEYS[1], ARGV[2]) == 1 then "
     "  local t = redis.call('incr', KEYS[2]) "
     "  redis.call('hincrby', KEYS[1], ARGV[2], 1) "
     "  redis.call('pexpire', KEYS[1], ARGV[1]) return {-1, t} end "
     "return {redis.call('pttl', KEYS[1]), -1}"},
    /* 11.1 */
    {"3 %l %q %z %t %o %N 300000",
     FAIR_DROP_STALE("ARGV[3]") FAIR_TAKE("ARGV[4]") "return 1"},
    /* 11.2 */
    {"3 %l %q %z %t %o 300000 %N", REDISSON_FAIR_ACQUIRE},
    /* 11.4 */
    {"2 %q %z %o 300000", REDISSON_FAIR_LEAVE},
    /* 11.5 */
    {"5 %l %q %z %c %L 0 %t %o %N %p 100000", REDISSON_FAIR_UNLOCK},
    /* 12.1 */
    {"2 %l %h %t %o %w",
     "local m = redis.call('hget', KEYS[1], 'mode') "
     "if not m then redis.call('hset', KEYS[1], 'mode', 'read') "
     "  redis.call('hset', KEYS[1], ARGV[2], 1) "
     "  redis.call('set', KEYS[2] .. ':1', 1) "
     "  redis.call('pexpire', KEYS[2] .. ':1', ARGV[1]) "
     "  redis.call('pexpire', KEYS[1], ARGV[1]) return nil end "
     "if m == 'read' or m == 'write' and "
     "   redis.call('hexists', KEYS[1], ARGV[3]) == 1 then "
     "  local i = redis.call('hincrby', KEYS[1], ARGV[2], 1) "
     "  local key = KEYS[2] .. ':' .. i redis.call('set', key, 1) "
     "  redis.call('pexpire', key, ARGV[1]) "
     "  redis.call('pexpire', KEYS[1], "
     "    math.max(redis.call('pttl', KEYS[1]), ARGV[1])) return nil end "
     "return redis.call('pttl', KEYS[1])"},
    /* 12.2 */
    {"1 %l %t %w",
     "local m = redis.call('hget', KEYS[1], 'mode') "
     "if not m then redis.call('hset', KEYS[1], 'mode', 'write') "
     "  redis.call('hset', KEYS[1], ARGV[2], 1) "
     "  redis.call('pexpire', KEYS[1], ARGV[1]) return nil end "
     "if m == 'write' and redis.call('hexists', KEYS[1], ARGV[2]) == 1 then "
     "  redis.call('hincrby', KEYS[1], ARGV[2], 1) "
     "  redis.call('pexpire', KEYS[1], redis.call('pttl', KEYS[1]) + ARGV[1]) "
     "  return nil end "
     "return redis.call('pttl', KEYS[1])"},
    /* 12.3 */
    {"5 %l %r %h %b %L 0 %o %p 100000",
     LATCH(5)
     "local m = redis.call('hget', KEYS[1], 'mode') "
     "if not m then redis.call(ARGV[3], KEYS[2], ARGV[1]) "
     "  redis.call('set', KEYS[5], 1, 'px', ARGV[4]) return nil end "
     "if redis.call('hexists', KEYS[1], ARGV[2]) == 0 then return nil end "
     "local c = redis.call('hincrby', KEYS[1], ARGV[2], -1) "
     "if c == 0 then redis.call('hdel', KEYS[1], ARGV[2]) end "
     "redis.call('del', KEYS[3] .. ':' .. (c + 1)) "
     "if redis.call('hlen', KEYS[1]) > 1 then "
     "  local best, keys = -3, redis.call('hkeys', KEYS[1]) "
     "  for n, f in ipairs(keys) do "
     "    c = tonumber(redis.call('hget', KEYS[1], f)) "
     "    if type(c) == 'number' then for i = c, 1, -1 do "
     "      best = math.max(best, redis.call('pttl', "
     "        KEYS[4] .. ':' .. f .. ':rwlock_timeout:' .. i)) end end end "
     "  if best > 0 then redis.call('pexpire', KEYS[1], best) "
     "    redis.call('set', KEYS[5], 0, 'px', ARGV[4]) return 0 end "
     "  if m == 'write' then redis.call('set', KEYS[5], 0, 'px', ARGV[4]) "
     "    return 0 end end "
     "redis.call('del', KEYS[1]) redis.call(ARGV[3], KEYS[2], ARGV[1]) "
     "redis.call('set', KEYS[5], 1, 'px', ARGV[4]) return 1"},
    /* 12.4 */
    {"3 %l %r %L 1 %t %w %p 100000",
     LATCH(3)
     "local m = redis.call('hget', KEYS[1], 'mode') "
     "if not m then redis.call(ARGV[4], KEYS[2], ARGV[1]) "
     "  redis.call('set', KEYS[3], 1, 'px', ARGV[5]) return nil end "
     "if m == 'write' then "
     "  if redis.call('hexists', KEYS[1], ARGV[3]) == 0 then return nil end "
     "  if redis.call('hincrby', KEYS[1], ARGV[3], -1) > 0 then "
     "    redis.call('pexpire', KEYS[1], ARGV[2]) "
     "    redis.call('set', KEYS[3], 0, 'px', ARGV[5]) return 0 end "
     "  redis.call('hdel', KEYS[1], ARGV[3]) "
     "  if redis.call('hlen', KEYS[1]) == 1 then "
     "    redis.call('del', KEYS[1]) redis.call(ARGV[4], KEYS[2], ARGV[1]) "
     "  else redis.call('hset', KEYS[1], 'mode', 'read') end "
     "  redis.call('set', KEYS[3], 1, 'px', ARGV[5]) return 1 end "
     "return nil"},
    /* 12.6 */
    {"2 %l %b %t 1 %o",
     "local c = redis.call('hget', KEYS[1], ARGV[3]) "
     "if not c then return {0} end "
     "for j = tonumber(c), 1, -1 do redis.call('pexpire', "
     "  KEYS[2] .. ':' .. ARGV[3] .. ':rwlock_timeout:' .. j, ARGV[1]) end "
     "redis.call('pexpire', KEYS[1], ARGV[1]) return {1}"},
    /* 15 */
    {"1 %k %n",
     "local v = redis.call('get', KEYS[1]) "
     "if v and tonumber(v) >= tonumber(ARGV[1]) then "
     "  redis.call('decrby', KEYS[1], ARGV[1]) return 1 end return 0"},
    {"2 %k %c %n %p",
     "local v = redis.call('incrby', KEYS[1], ARGV[1]) "
     "redis.call(ARGV[2], KEYS[2], v)"},
    /* 16 */
    {"3 %k %z %c 1 %N1 %N 922337203685477 %p %v",
     REAP "local v = redis.call('get', KEYS[1]) "
     "if v and tonumber(v) >= tonumber(ARGV[1]) then "
     "  redis.call('decrby', KEYS[1], ARGV[1]) "
     "  redis.call('zadd', KEYS[2], ARGV[2], ARGV[6]) "
     "  local ttl = redis.call('pttl', KEYS[1]) "
     "  if ttl > 0 then redis.call('pexpire', KEYS[2], ttl) end "
     "  return 'OK' end "
     "local s = redis.call('zrange', KEYS[2], 0, 0, 'withscores') "
     "if s[1] and s[2] ~= ARGV[4] then return ':' .. s[2] end return nil"},
    {"2 %z %k %N",
     "return redis.call('zcount', KEYS[1], 0, '+inf') .. "
     "redis.call('zcount', KEYS[1], ARGV[1], '(' .. ARGV[1] .. '9')"},
    /* 17 */
    {"2 %k %c 0 %p",
     "local v = redis.call('decr', KEYS[1]) "
     "if v <= 0 then redis.call('del', KEYS[1]) end "
     "if v == 0 then redis.call(ARGV[2], KEYS[2], ARGV[1]) end"},
};

#endif
