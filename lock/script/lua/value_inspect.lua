-- Returns the state of a value lock.
-- KEYS  lock
-- ARGV  request, owner to look for ('' for none)
-- Reply {request, -1, TTL in ms (-1 none, -2 not locked), holder, 1, '', length of the
--        holder, 1, the owner's count, the number of holders, 0}, as inspect.lua
-- The first 192 bytes show whether the value is the owner's: value_acquire.lua.
local ttl = redis.call('pttl', KEYS[1])
local holder = redis.call('getrange', KEYS[1], 0, 191)
local is_held = ttl ~= -2
return {ARGV[1], -1, ttl, holder:sub(1, 191), '1', '', redis.call('strlen', KEYS[1]), 1,
        is_held and holder == ARGV[2] and '1' or '0', is_held and 1 or 0, 0}
