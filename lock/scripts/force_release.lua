-- Frees the lock, whoever holds it, and wakes waiters.
-- KEYS  lock
-- ARGV  request, holder ('' for whoever), PUBLISH or SPUBLISH, channel
--       [, the other of them]
-- Reply {request, 1} freed, {request, 0} not locked, {request, -1} by another
-- Nothing but a hash is ever deleted (hlen refuses). Source: WIRE 8.3.
local lock, holder = KEYS[1], ARGV[2]
if redis.call('hlen', lock) == 0 then
    return {ARGV[1], 0}
end
if holder ~= '' and redis.call('hexists', lock, holder) == 0 then
    return {ARGV[1], -1}
end
redis.call('del', lock)
redis.call(ARGV[3], ARGV[4], '0')
if ARGV[5] then
    redis.call(ARGV[5], ARGV[4], '0')
end
return {ARGV[1], 1}
