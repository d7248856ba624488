-- Makes a permit last for a lease. Never makes it shorter: its owner may believe in
-- what it has.
-- KEYS  the permits of its semaphore that are out
-- ARGV  owner, 0, lease in ms
-- Reply {owner, 1[, ms until it ends]}  done; no end: it never ends
--       {owner, -1, -2}                 it is out no more
-- One that has lapsed, and that nobody has made available yet, is still its owner's.
-- First comes a write that changes nothing and needs no memory (there is no such
-- member): after that, a full server lets the others pass.
-- Something is written whenever it is done (extend.lua): ZADD of an equal number is
-- not, so another comes before it. Source: WIRE 16.
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
