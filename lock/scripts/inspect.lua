-- How the lock stands.
-- KEYS  lock
-- ARGV  request, owner to look for ('' for none)
-- Reply {request, TTL in ms (-1 none, -2 not locked), holder, its count,
--        the owner's count}
-- Source: WIRE 8.4.
local lock = KEYS[1]
local fields = redis.call('hscan', lock, 0, 'count', 2)[2]
local i = fields[1] == 'mode' and 3 or 1
return {ARGV[1], redis.call('pttl', lock), fields[i] or '', fields[i + 1] or '0',
        redis.call('hget', lock, ARGV[2]) or '0'}
