-- Sets the owner's count of read holds to what the client counted. If no hold that
-- is alive remains, frees the lock and wakes waiters.
-- KEYS  lock, prefix of the owner's hold keys: {lock}:owner:rwlock_timeout
-- ARGV  owner, hold count to reach, lease in ms, PUBLISH or SPUBLISH, channel
--       [, the other of them]
-- Reply {owner, hold count}       done; it is still held, by whomever
--       {owner, 0, listeners[, why the message was not sent]}  done, and it is free
--       {owner, -1, TTL in ms}    this owner does not hold it; TTL -2: nobody does
-- May be sent any number of times. On a lock that nobody holds, waiters are woken
-- all the same: they may be asleep on a TTL that has ended early.
-- A hold is alive as long as its hold key is there. A holder that died leaves its
-- field; the last living one deletes it with the lock. (A count beyond 1000 is not
-- gone through: such a holder is alive until the lock's TTL ends; and of more than
-- 1000 hold keys that are too many the rest end with their TTL.)
-- The lock's TTL becomes that of the hold that lives longest; but it is not made
-- shorter under a writer, which has a lease of its own. What remains of the owner's
-- holds lives for `lease` or longer, as that of a plain lock does.
-- Why a prefix stands among the keys: read_acquire.lua. Source: WIRE 5.3, 12.3.
local lock, prefix, owner = KEYS[1], KEYS[2], ARGV[1]
local count, lease = tonumber(ARGV[2]), tonumber(ARGV[3])
--+ tell
local mode, held = unpack(redis.call('hmget', lock, 'mode', owner))
local ttl = redis.call('pttl', lock)
if not (mode and held) then
    if count == 0 and ttl == -2 then
        tell(4, ARGV[5], '0', true)
    end
    return {owner, -1, ttl}
end
held = tonumber(held)
local longest = 0
local function look_at(keys, holds)
    longest = holds > 1000 and math.max(longest, ttl) or longest
    for i = 1, math.min(holds, 1000) do
        longest = math.max(longest, redis.call('pttl', keys .. ':' .. i))
    end
end
local fields = redis.call('hgetall', lock)
for i = 1, #fields, 2 do
    local keys = prefix:sub(1, -#owner - 16) .. fields[i] .. ':rwlock_timeout'
    if fields[i] == owner then
        look_at(prefix, math.min(held, count))
    elseif fields[i] ~= 'mode' and not fields[i]:find(':write$') then
        look_at(keys, tonumber(fields[i + 1]) or 0)
    end
end
for i = count + 1, math.min(held, count + 1000) do
    redis.call('del', prefix .. ':' .. i)
end
if count > 0 then
    redis.call('hset', lock, owner, count)
    if redis.call('pttl', prefix .. ':' .. count) < lease then
        redis.call('set', prefix .. ':' .. count, '1', 'px', lease)
        longest = math.max(longest, lease)
    end
elseif longest > 0 or mode == 'write' then
    redis.call('hdel', lock, owner)
else
    redis.call('del', lock)
    return {owner, 0, tell(4, ARGV[5], '0', true)}
end
if longest > (mode == 'write' and ttl or 0) then
    redis.call('pexpire', lock, longest)
end
return {owner, count}
