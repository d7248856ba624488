-- Makes the hold of an owner last for a lease, of a plain or a fair lock, or of a
-- writer's. Never makes it shorter: the owner may believe in what it has.
-- KEYS  lock
-- ARGV  owner, 0, lease in ms[, write: it is a writer's]
-- Reply {owner, hold count[, TTL in ms]} done; no TTL: it has none
--       {owner, -1, TTL in ms}           this owner does not hold it so
-- Source: WIRE 6.
local lock, owner, lease = KEYS[1], ARGV[1], tonumber(ARGV[3])
local held = tonumber(redis.call('hget', lock, owner) or nil)
local ttl = redis.call('pttl', lock)
if not held or (redis.call('hget', lock, 'mode') or nil) ~= ARGV[4] then
    return {owner, -1, ttl}
end
if ttl >= 0 and ttl < lease then
    redis.call('pexpire', lock, lease)
    ttl = lease
end
return {owner, held, ttl >= 0 and ttl or nil}
