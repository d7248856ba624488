-- Sets the owner's hold count to what the client counted; at 0 frees the lock
-- and wakes waiters.
-- KEYS  lock
-- ARGV  owner, hold count to reach, lease in ms, PUBLISH or SPUBLISH, channel
-- Reply {owner, hold count}   done
--       {owner, -1, TTL}      this owner does not hold it; TTL -2: nobody does
-- May be sent any number of times. On a lock that nobody holds, waiters are
-- woken all the same: they may be asleep on a TTL that has ended early.
-- Source: WIRE 8.2.
local lock, owner, count = KEYS[1], ARGV[1], ARGV[2]
if redis.call('hexists', lock, owner) == 0 then
    local ttl = redis.call('pttl', lock)
    if ttl == -2 and count == '0' then
        redis.call(ARGV[4], ARGV[5], '0')
    end
    return {owner, -1, ttl}
end
if count == '0' then
    redis.call('del', lock)
    redis.call(ARGV[4], ARGV[5], '0')
else
    redis.call('hset', lock, owner, count)
    redis.call('pexpire', lock, ARGV[3])
end
return {owner, tonumber(count)}
