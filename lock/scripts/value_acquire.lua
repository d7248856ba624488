-- Takes the lock: a string, whose value is the owner's text.
-- KEYS  lock[, counter of its fencing tokens]
-- ARGV  owner, hold count to reach (1), lease in ms[, retention of the counter:
--       token.lua]
-- Reply {owner, 1[, token]}                held
--       {owner, -1, TTL in ms, holder, 1}  not: this is what keeps it
-- A client that does SET NX PX is excluded, and excludes us; any value is a holder's. May
-- be sent any number of times: the lease begins anew.
-- Source: REDLOCK, a single instance.
local lock, owner, count, lease = KEYS[1], ARGV[1], ARGV[2], ARGV[3]
local counter, retention = KEYS[2], ARGV[4]
local holder = redis.call('get', lock)
local is_free = not holder
if is_free or holder == owner then
    --+ token
    redis.call('set', lock, owner, 'px', lease)
    return {owner, 1, token}
end
return {owner, -1, redis.call('pttl', lock), holder, '1'}
