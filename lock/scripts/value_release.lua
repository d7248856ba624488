-- Frees the lock: compare and delete.
-- KEYS  lock
-- ARGV  owner
-- Reply {owner, 0, 0}           done
--       {owner, -1, TTL in ms}  this owner does not hold it
-- An owner has at most 191 bytes, so the first 192 bytes show whether the value is the
-- owner's.
-- May be sent any number of times. No message is sent: waiters ask again and
-- again. Source: REDLOCK, a single instance.
local lock, owner = KEYS[1], ARGV[1]
if redis.call('getrange', lock, '0', '191') ~= owner then
    return {owner, -1, redis.call('pttl', lock)}
end
redis.call('del', lock)
return {owner, 0, 0}
