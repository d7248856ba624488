-- How a value lock stands.
-- KEYS  lock
-- ARGV  request, owner to look for ('' for none)
-- Reply {request, -1, TTL in ms (-1 none, -2 not locked), holder, 1, '', the owner's
--        count, how many holders there are, 0}, as inspect.lua
local lock = KEYS[1]
local holder = redis.call('get', lock)
return {ARGV[1], -1, redis.call('pttl', lock), holder or '', '1', '',
        holder == ARGV[2] and '1' or '0', holder and 1 or 0, 0}
