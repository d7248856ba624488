-- Makes the hold of an owner last for a lease. Never makes it shorter: the owner may
-- believe in what it has.
-- KEYS  lock
-- ARGV  owner, 0, lease in ms
-- Reply {owner, 1[, TTL in ms]}  done; no TTL: it has none
--       {owner, -1, TTL in ms}   this owner does not hold it
-- An owner has at most 191 bytes, so the first 192 bytes show whether the value is the
-- owner's.
-- Something is written whenever it is done: extend.lua.
local owner, lease = ARGV[1], tonumber(ARGV[3])
local ttl = redis.call('pttl', KEYS[1])
if redis.call('getrange', KEYS[1], '0', '191') ~= owner then
    return {owner, -1, ttl}
end
if ttl < 0 then
    redis.call('set', KEYS[1], owner)
    return {owner, 1}
end
ttl = math.max(ttl, lease)
redis.call('pexpire', KEYS[1], ttl)
return {owner, 1, ttl}
