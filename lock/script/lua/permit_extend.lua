-- Extends a permit to a lease. It is never shortened, because its owner may believe in the
-- time that it has.
-- KEYS  the permits of its semaphore that are in use
-- ARGV  owner, 0, lease in ms
-- Reply {owner, 1[, ms until it expires]}  done; without ms: it never expires
--       {owner, -1, -2}                    it is no longer in use
-- An expired permit that was not made available yet still belongs to its owner.
-- The first write is a ZREM of a member that does not exist, which needs no memory: after
-- that, a server without memory accepts the other writes.
-- Something is written whenever the permit is extended (extend.lua): ZADD of an equal number
-- writes nothing, so another one precedes it. Source: WIRE 16.
local owner, lease = ARGV[1], tonumber(ARGV[3])
--+ permit_id
local ends = tonumber(redis.call('zscore', KEYS[1], id) or nil)
if not ends then
    return {owner, -1, -2}
end
local time = redis.call('time')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
ends = math.max(ends, now + lease)
redis.call('zrem', KEYS[1], '')
if redis.call('zadd', KEYS[1], 'ch', string.format('%.0f', ends), id) == 0 then
    redis.call('zadd', KEYS[1], string.format('%.0f', ends + 1), id)
    redis.call('zadd', KEYS[1], string.format('%.0f', ends), id)
end
return {owner, 1, ends < 922337203685477 and ends - now or nil}
