-- Frees the lock: compare and delete.
-- KEYS  lock
-- ARGV  owner
-- Reply {owner, 0, 0}           done
--       {owner, -1, TTL in ms}  this owner does not hold it
-- An owner has at most 191 bytes, so the first 192 bytes show whether the value is the
-- owner's.
-- May be sent any number of times. No message is sent: waiters poll. Source: REDLOCK, a single instance.
local owner = ARGV[1]
if redis.call('getrange', KEYS[1], '0', '191') ~= owner then
    return {owner, -1, redis.call('pttl', KEYS[1])}
end
redis.call('del', KEYS[1])
return {owner, 0, 0}
