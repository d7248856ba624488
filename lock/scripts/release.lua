-- Sets the owner's hold count to what the client counted; at 0 frees the lock
-- and wakes waiters.
-- KEYS  lock
-- ARGV  owner, hold count to reach, lease in ms, PUBLISH or SPUBLISH, channel
--       [, the other of them]
-- Reply {owner, hold count}   done
--       {owner, -1, TTL}      this owner does not hold it; TTL -2: nobody does
-- May be sent any number of times. On a lock that nobody holds, waiters are
-- woken all the same: they may be asleep on a TTL that has ended early.
-- Source: WIRE 8.2.
local lock, owner, count = KEYS[1], ARGV[1], ARGV[2]
local reply, is_free = {owner, tonumber(count)}, count == '0'
if redis.call('hexists', lock, owner) == 0 then
    local ttl = redis.call('pttl', lock)
    reply, is_free = {owner, -1, ttl}, is_free and ttl == -2
elseif is_free then
    redis.call('del', lock)
else
    redis.call('hset', lock, owner, count)
    redis.call('pexpire', lock, ARGV[3])
end
if is_free then
    redis.call(ARGV[4], ARGV[5], '0')
end
if is_free and ARGV[6] then
    redis.call(ARGV[6], ARGV[5], '0')
end
return reply
