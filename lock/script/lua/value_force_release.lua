-- Frees a value lock of any holder.
-- KEYS  lock
-- ARGV  request, holder ('' for any)
-- Reply {request, 0, 0} freed, {request, -1, TTL in ms} not locked, or held by another
--       owner; nothing is done, because the value is {request, -7} not a holder: it is
--       empty, or longer than hf_lock_inspect can return
local holder = ARGV[2]
local ttl = redis.call('pttl', KEYS[1])
local held = redis.call('getrange', KEYS[1], 0, 191)
if ttl == -2 or holder ~= '' and held ~= holder then
    return {ARGV[1], -1, ttl}
end
if held == '' or #held > 191 then
    return {ARGV[1], -7}
end
redis.call('del', KEYS[1])
return {ARGV[1], 0, 0}
