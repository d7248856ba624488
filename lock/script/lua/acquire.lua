-- Takes the lock, or sets the owner's hold count to what the client counted.
-- KEYS  lock[, counter of its fencing tokens]
-- ARGV  owner, hold count to reach, lease in ms[, retention of the counter: token.lua]
-- Reply {owner, hold count[, token]}            held
--       {owner, -1, TTL in ms, field, its value, '', length of the field, of the value}
--                       not held; this field keeps it. Texts are cut to 191 bytes;
--                       the lengths are the true ones
-- A first acquire (to reach: 1) takes a free lock; a re-entry does not, because
-- then the hold was lost. May be sent any number of times. An error means that
-- nothing was acquired: a lock that cannot get its TTL is taken back.
-- Source: WIRE 8.1, 10.2.
local owner, count, lease = ARGV[1], ARGV[2], ARGV[3]
local counter, retention = KEYS[2], ARGV[4]
local is_free = count == '1' and redis.call('exists', KEYS[1]) == 0
local held = not is_free and redis.call('hget', KEYS[1], owner)
if is_free or held then
    --+ token
    redis.call('hset', KEYS[1], owner, count)
    local set = redis.pcall('pexpire', KEYS[1], lease)
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
local fields = redis.call('hscan', KEYS[1], '0', 'count', '2')[2]
local i = fields[1] == 'mode' and fields[3] and 3 or 1
local field, value = fields[i] or '', fields[i + 1] or '0'
return {owner, -1, redis.call('pttl', KEYS[1]), field:sub(1, 191), value:sub(1, 191), '',
        #field, #value}
