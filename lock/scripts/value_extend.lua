-- Makes the hold of an owner last for a lease. Never makes it shorter: the owner may
-- believe in what it has.
-- KEYS  lock
-- ARGV  owner, 0, lease in ms
-- Reply {owner, 1[, TTL in ms]}  done; no TTL: it has none
--       {owner, -1, TTL in ms}   this owner does not hold it
-- An owner has at most 191 bytes, so the first 192 bytes show whether the value is the
-- owner's.
-- Something is written whenever it is done: extend.lua.
local lock, owner, lease = KEYS[1], ARGV[1], tonumber(ARGV[3])
local ttl = redis.call('pttl', lock)
if redis.call('getrange', lock, '0', '191') ~= owner then
    return {owner, -1, ttl}
end
if ttl < 0 then
    redis.call('set', lock, owner)
    return {owner, 1}
end
ttl = math.max(ttl, lease)
redis.call('pexpire', lock, ttl)
return {owner, 1, ttl}
