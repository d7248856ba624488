/* What Redisson's scripts of fair locks do, by the numbered steps of WIRE 11. KEYS and
 * ARGV of each are those of WIRE. */
#ifndef REDISSON_FAIR_H
#define REDISSON_FAIR_H

#define FAIR_DROP_STALE(now)                                                  \
    "while true do "                                                          \
    "  local h = redis.call('lindex', KEYS[2], 0) "                           \
    "  if not h then break end "                                              \
    "  local s = redis.call('zscore', KEYS[3], h) "                           \
    "  if s and tonumber(s) <= tonumber(" now ") then "                       \
    "    redis.call('zrem', KEYS[3], h) redis.call('lpop', KEYS[2]) "         \
    "  else break end "                                                       \
    "end "

#define FAIR_TAKE(wait)                                                       \
    "if redis.call('exists', KEYS[1]) == 0 and "                              \
    "   (redis.call('exists', KEYS[2]) == 0 or "                              \
    "    redis.call('lindex', KEYS[2], 0) == ARGV[2]) then "                  \
    "  redis.call('lpop', KEYS[2]) redis.call('zrem', KEYS[3], ARGV[2]) "     \
    "  local all = redis.call('zrange', KEYS[3], 0, -1) "                     \
    "  for i = 1, #all do "                                                   \
    "    redis.call('zincrby', KEYS[3], -tonumber(" wait "), all[i]) end "    \
    "  redis.call('hset', KEYS[1], ARGV[2], 1) "                              \
    "  redis.call('pexpire', KEYS[1], ARGV[1]) return nil end "               \
    "if redis.call('hexists', KEYS[1], ARGV[2]) == 1 then "                   \
    "  redis.call('hincrby', KEYS[1], ARGV[2], 1) "                           \
    "  redis.call('pexpire', KEYS[1], ARGV[1]) return nil end "

/* 11.2 */
#define REDISSON_FAIR_ACQUIRE                                                 \
    FAIR_DROP_STALE("ARGV[4]") FAIR_TAKE("ARGV[3]")                           \
    "if redis.call('zscore', KEYS[3], ARGV[2]) then "                         \
    "  return math.max(0, redis.call('pttl', KEYS[1])) end "                  \
    "local last, ttl = redis.call('lindex', KEYS[2], -1), nil "               \
    "local s = last and last ~= ARGV[2] and "                                 \
    "  redis.call('zscore', KEYS[3], last) "                                  \
    "if s then ttl = tonumber(s) - tonumber(ARGV[4]) "                        \
    "else ttl = redis.call('pttl', KEYS[1]) end "                             \
    "if redis.call('zadd', KEYS[3], ttl + tonumber(ARGV[3]) + "               \
    "  tonumber(ARGV[4]), ARGV[2]) == 1 then "                                \
    "  redis.call('rpush', KEYS[2], ARGV[2]) end "                            \
    "return ttl"

/* 11.4 */
#define REDISSON_FAIR_LEAVE                                                   \
    "local q, found = redis.call('lrange', KEYS[1], 0, -1), false "           \
    "for i = 1, #q do "                                                       \
    "  if found then redis.call('zincrby', KEYS[2], -tonumber(ARGV[2]), q[i]) " \
    "  elseif q[i] == ARGV[1] then found = true end end "                     \
    "redis.call('zrem', KEYS[2], ARGV[1]) "                                   \
    "redis.call('lrem', KEYS[1], 0, ARGV[1])"

/* 11.5 */
#define REDISSON_FAIR_UNLOCK                                                  \
    "local latch = redis.call('get', KEYS[5]) "                               \
    "if latch then return tonumber(latch) end "                               \
    FAIR_DROP_STALE("ARGV[4]")                                                \
    "local function tell() local h = redis.call('lindex', KEYS[2], 0) "       \
    "  if h then redis.call(ARGV[5], KEYS[4] .. ':' .. h, ARGV[1]) end end "  \
    "if redis.call('exists', KEYS[1]) == 0 then tell() "                      \
    "  redis.call('set', KEYS[5], 1, 'px', ARGV[6]) return 1 end "            \
    "if redis.call('hexists', KEYS[1], ARGV[3]) == 0 then return nil end "    \
    "if redis.call('hincrby', KEYS[1], ARGV[3], -1) > 0 then "                \
    "  redis.call('pexpire', KEYS[1], ARGV[2]) "                              \
    "  redis.call('set', KEYS[5], 0, 'px', ARGV[6]) return 0 end "            \
    "redis.call('del', KEYS[1]) "                                             \
    "redis.call('set', KEYS[5], 1, 'px', ARGV[6]) tell() return 1"

#endif
