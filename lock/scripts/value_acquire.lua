-- Takes the lock: a string, whose value is the owner's text.
-- KEYS  lock
-- ARGV  owner, hold count to reach (1), lease in ms
-- Reply {owner, 1}                         held
--       {owner, -1, TTL in ms, holder, 1}  not: this is what keeps it
-- Whoever does SET NX PX is excluded, and excludes us; any value is a holder's. May
-- be sent any number of times: the lease begins anew.
-- Source: REDLOCK, a single instance.
local lock, owner, lease = KEYS[1], ARGV[1], ARGV[3]
if redis.call('set', lock, owner, 'nx', 'px', lease) then
    return {owner, 1}
end
local holder = redis.call('get', lock)
if holder == owner then
    redis.call('pexpire', lock, lease)
    return {owner, 1}
end
return {owner, -1, redis.call('pttl', lock), holder, '1'}
