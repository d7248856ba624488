-- Sets the owner's hold count to what the client counted; at 0 frees the lock
-- and wakes waiters.
-- KEYS  lock
-- ARGV  owner, hold count to reach, lease in ms, PUBLISH or SPUBLISH, channel
--       [, the other of them]
-- Reply {owner, hold count[, listeners]}  done; listeners if the lock is free
--       {owner, -1, TTL in ms}            this owner does not hold it
-- May be sent any number of times. On a lock that nobody holds, waiters are
-- woken all the same: they may be asleep on a TTL that has ended early.
-- A listener in both ways is counted once. More than 16 listeners are told
-- how many they are (channel.h, TURN-2): Redisson ignores numbers other than 0 and 1.
-- Source: WIRE 5.3, 8.2.
local lock, owner, count = KEYS[1], ARGV[1], ARGV[2]
local reply, is_free, heard = {owner, tonumber(count)}, count == '0', 0
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
    heard = redis.call(ARGV[4], ARGV[5], '0')
    if heard > 16 then
        redis.call(ARGV[4], ARGV[5], heard)
    end
end
if is_free and ARGV[6] then
    heard = math.max(heard, redis.call(ARGV[6], ARGV[5], '0'))
end
if reply[2] == 0 then
    reply[3] = heard
end
return reply
