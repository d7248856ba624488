-- Makes the hold of an owner last for a lease, of a plain or a fair lock, or of a
-- writer's. Never makes it shorter: the owner may believe in what it has.
-- KEYS  lock
-- ARGV  owner, 0, lease in ms[, write: it is a writer's]
-- Reply {owner, hold count[, TTL in ms]} done; no TTL: it has none
--       {owner, -1, TTL in ms}           this owner does not hold it so
-- Something is written whenever it is done: by WAIT, a server confirms only what the
-- connection has written (Redis 7.2, Valkey). Source: WIRE 6.
local owner, lease = ARGV[1], tonumber(ARGV[3])
local held = redis.call('hget', KEYS[1], owner)
local ttl = redis.call('pttl', KEYS[1])
if not tonumber(held or nil) or (redis.call('hget', KEYS[1], 'mode') or nil) ~= ARGV[4] then
    return {owner, -1, ttl}
end
if ttl < 0 then
    redis.call('hset', KEYS[1], owner, held)
    return {owner, tonumber(held)}
end
ttl = math.max(ttl, lease)
redis.call('pexpire', KEYS[1], ttl)
return {owner, tonumber(held), ttl}
