-- Is the latch at 0?
-- KEYS  latch
-- ARGV  question, 1, 0
-- Reply {question, 1} it is, or there is none; {question, -1, TTL in ms} it is not
-- Source: WIRE 17.
local count = redis.call('get', KEYS[1])
if not count or (tonumber(count) or 1) <= 0 then
    return {ARGV[1], 1}
end
return {ARGV[1], -1, redis.call('pttl', KEYS[1])}
