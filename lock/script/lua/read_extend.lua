-- Extends the read holds of an owner to a lease. They are never shortened, because the owner
-- may believe in the time that it has.
-- KEYS  lock, prefix of the owner's hold keys: {lock}:owner:rwlock_timeout
-- ARGV  owner, 0, lease in ms
-- Reply {owner, hold count[, TTL in ms]} done; the TTL of the hold that ends first, if one does
--       {owner, -1, TTL in ms}           this owner does not read it
-- If its last hold key is missing, it is created again: while the owner's field exists, no
-- writer has held the lock. Of more than 500 holds only the last are processed.
-- read_acquire.lua explains the prefix among the keys, extend.lua why something is always
-- written. Source: WIRE 12.6.
local prefix, owner, lease = KEYS[2], ARGV[1], tonumber(ARGV[3])
local held = tonumber(redis.call('hget', KEYS[1], owner) or nil)
local ttl = redis.call('pttl', KEYS[1])
if not held or redis.call('hexists', KEYS[1], 'mode') == 0 then
    return {owner, -1, ttl}
end
if ttl < 0 then
    redis.call('hset', KEYS[1], owner, string.format('%.0f', held))
else
    ttl = math.max(ttl, lease)
    redis.call('pexpire', KEYS[1], ttl)
end
for before = 0, math.min(held, 500) - 1 do
    KEYS[2] = prefix .. string.format(':%.0f', held - before)
    local left = redis.call('pttl', KEYS[2])
    if left >= 0 and left < lease or left == -2 and before == 0 then
        redis.call('set', KEYS[2], '1', 'px', lease)
        left = lease
    end
    if left >= 0 and (ttl < 0 or left < ttl) then
        ttl = left
    end
end
return {owner, held, ttl >= 0 and ttl or nil}
