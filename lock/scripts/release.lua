-- Sets the owner's hold count to what the client counted; at 0 frees the lock
-- and wakes waiters.
-- KEYS  lock
-- ARGV  owner, hold count to reach, lease in ms, PUBLISH or SPUBLISH, channel
--       [, the other of them]
-- Reply {owner, hold count[, listeners[, why the message was not sent]]}
--                                         done; listeners if the lock is free
--       {owner, -1, TTL in ms}            this owner does not hold it
-- May be sent any number of times. On a lock that nobody holds, waiters are
-- woken all the same: they may be asleep on a TTL that has ended early. An error means
-- that nothing was done.
-- Source: WIRE 5.3, 8.2.
local lock, owner, count = KEYS[1], ARGV[1], ARGV[2]
--+ tell
local reply, is_free = {owner, tonumber(count)}, count == '0'
local held = redis.call('hget', lock, owner)
if not held then
    local ttl = redis.call('pttl', lock)
    reply, is_free = {owner, -1, ttl}, is_free and ttl == -2
elseif is_free then
    if redis.call('hlen', lock) <= 500 or redis.pcall('unlink', lock) ~= 1 then
        redis.call('del', lock) -- frees each field before the script ends
    end
else
    redis.call('hset', lock, owner, count)
    local set = redis.pcall('pexpire', lock, ARGV[3])
    if type(set) == 'table' then
        redis.pcall('hset', lock, owner, held)
        return set
    end
end
if is_free then
    local heard, note = tell(4, ARGV[5], '0', true)
    if reply[2] == 0 then
        reply[3], reply[4] = heard, note
    end
end
return reply
