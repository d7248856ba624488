-- Makes the read holds of an owner last for a lease. Never makes them shorter: the
-- owner may believe in what it has.
-- KEYS  lock, prefix of the owner's hold keys: {lock}:owner:rwlock_timeout
-- ARGV  owner, 0, lease in ms
-- Reply {owner, hold count[, TTL in ms]} done; of the hold that ends first, if any does
--       {owner, -1, TTL in ms}           this owner does not read it
-- Its last hold key is made again if it is gone: where the owner's field is, no writer
-- has been. Of more than 500 holds only the last are gone through. Why a prefix stands
-- among the keys: read_acquire.lua. Why something is written whenever it is done:
-- extend.lua. Source: WIRE 12.6.
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
    local key = prefix .. string.format(':%.0f', held - before)
    local left = redis.call('pttl', key)
    if left >= 0 and left < lease or left == -2 and before == 0 then
        redis.call('set', key, '1', 'px', lease)
        left = lease
    end
    if left >= 0 and (ttl < 0 or left < ttl) then
        ttl = left
    end
end
return {owner, held, ttl >= 0 and ttl or nil}
