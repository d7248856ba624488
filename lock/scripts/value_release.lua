-- Frees the lock: compare and delete.
-- KEYS  lock
-- ARGV  owner
-- Reply {owner, 0, 0}           done
--       {owner, -1, TTL in ms}  this owner does not hold it
-- One byte more than the owner has shows a longer value.
-- May be sent any number of times. No message is sent: waiters ask again and
-- again. Source: REDLOCK, a single instance.
local lock, owner = KEYS[1], ARGV[1]
if redis.call('getrange', lock, 0, #owner) ~= owner then
    return {owner, -1, redis.call('pttl', lock)}
end
redis.call('del', lock)
return {owner, 0, 0}
