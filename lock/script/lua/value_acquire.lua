-- Takes the lock: a string, whose value is the owner's text.
-- KEYS  lock[, counter of its fencing tokens]
-- ARGV  owner, hold count to reach (1), lease in ms[, retention of the counter:
--       token.lua]
-- Reply {owner, 1[, token]}                held
--       {owner, -1, TTL in ms, holder, 1, '', length of the holder, 1}  not held; this
--                       text keeps it. It is cut to 191 bytes; the length is the true one
-- A client that does SET NX PX is excluded, and excludes us; any value is a holder's. May
-- be sent any number of times: the lease begins anew. An owner has at most 191 bytes,
-- so the first 192 bytes show whether the value is the owner's.
-- Source: REDLOCK, a single instance.
local owner, count, lease = ARGV[1], ARGV[2], ARGV[3]
local counter, retention = KEYS[2], ARGV[4]
local ttl = redis.call('pttl', KEYS[1])
local is_free = ttl == -2
local holder = is_free or redis.call('getrange', KEYS[1], '0', '191')
if is_free or holder == owner then
    --+ token
    redis.call('set', KEYS[1], owner, 'px', lease)
    return {owner, 1, token}
end
local length = #holder > 191 and redis.call('strlen', KEYS[1]) or #holder
return {owner, -1, ttl, holder:sub(1, 191), '1', '', length, 1}
