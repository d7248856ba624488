-- Sets the owner's hold count to that of the client; at 0 frees the lock and wakes waiters.
-- KEYS  lock
-- ARGV  owner, hold count to reach, lease in ms, PUBLISH or SPUBLISH, channel
--       [, the other of them]
-- Reply {owner, hold count[, listeners[, why the message was not sent]]}
--                                         done; listeners if the lock is free
--       {owner, -1, TTL in ms}            this owner does not hold it
-- May be sent any number of times. If the lock is free, waiters are woken nevertheless: they
-- may sleep until a TTL that has ended early. An error means that nothing was done.
-- Another program may have filled the hash: DEL would free each field before the script
-- ends, UNLINK frees them in the background.
-- Source: WIRE 5.3, 8.2.
local owner, count = ARGV[1], ARGV[2]
local is_last = count == '0'
local held = is_last and redis.call('hexists', KEYS[1], owner)
if not is_last then
    held = redis.call('hget', KEYS[1], owner)
end
local ttl = (not held or held == 0) and redis.call('pttl', KEYS[1])
if ttl and not (is_last and ttl == -2) then
    return {owner, -1, ttl}
end
if not is_last then
    redis.call('hset', KEYS[1], owner, count)
    local set = redis.pcall('pexpire', KEYS[1], ARGV[3])
    if type(set) == 'table' then
        redis.pcall('hset', KEYS[1], owner, held)
        return set
    end
    return {owner, tonumber(count)}
end
if not ttl and redis.pcall('unlink', KEYS[1]) ~= 1 then
    redis.call('del', KEYS[1]) -- an ACL may refuse UNLINK
end
local heard, note
if ARGV[4] == 'SPUBLISH' then
    heard = redis.pcall('spublish', ARGV[5], '0')
else
    heard = redis.pcall('publish', ARGV[5], '0')
end
if heard ~= 0 or ARGV[6] then
    --+ tell
    heard, note = tell(4, ARGV[5], '0', true, heard)
end
return ttl and {owner, -1, ttl} or {owner, 0, heard, note}
