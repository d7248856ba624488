-- Acquires the write hold, or sets its hold count to that of the client.
-- KEYS  lock[, counter of its fencing tokens]
-- ARGV  owner (its field, which ends in :write), hold count to reach, lease in ms[,
--       retention of the counter: token.lua]
-- Reply {owner, hold count[, token]}                held
--       {owner, -1, TTL in ms, field, its value, mode or '', length of the field, of
--        the value}             not held; this field prevents it (TTL -1: none); '': the
--                               lock does not exist (TTL -2). Texts are cut to 191 bytes; the
--                               lengths are the true ones
-- A first acquire (to reach: 1) takes a free lock; a re-entry does not, because
-- then the hold was lost. It does not succeed while there are readers, including the owner
-- itself. May be sent any number of times. An error means that nothing was acquired: a lock
-- whose TTL cannot be set is released.
-- A re-entry adds its lease to the TTL, as Redisson's does; a repeated one only ensures its
-- lease. So the TTL is never less than Redisson's or than a promised lease, and a repetition
-- does not extend it.
-- Source: WIRE 12.2.
local owner, count, lease = ARGV[1], ARGV[2], tonumber(ARGV[3])
local counter, retention = KEYS[2], ARGV[4]
local mode, held = unpack(redis.call('hmget', KEYS[1], 'mode', owner))
local ttl = redis.call('pttl', KEYS[1])
local is_free = count == '1' and ttl == -2
if is_free or held and mode == 'write' then
    if held and tonumber(held) < tonumber(count) then
        lease = math.max(ttl, 0) + lease
    end
    --+ token
    redis.call('hset', KEYS[1], 'mode', 'write', owner, count)
    local set = redis.pcall('pexpire', KEYS[1], math.max(ttl, lease))
    if set == 1 then
        return {owner, tonumber(count), token}
    end
    if is_free then
        redis.pcall('del', KEYS[1])
    else
        redis.pcall('hset', KEYS[1], owner, held)
    end
    return set
end
local fields, at = redis.call('hscan', KEYS[1], '0', 'count', '3')[2], nil
for i = 1, #fields, 2 do
    if fields[i] ~= 'mode' and (not at or fields[i]:find(':write$')) then
        at = i
    end
end
local field, value = at and fields[at] or '', at and fields[at + 1] or ''
mode = mode or ''
return {owner, -1, ttl, field:sub(1, 191), value:sub(1, 191), mode:sub(1, 191), #field,
        #value}
