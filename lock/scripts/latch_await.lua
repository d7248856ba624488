-- Is the latch at 0?
-- KEYS  latch
-- ARGV  question, 1, 0
-- Reply {question, 1} it is, or there is none; {question, -1, TTL in ms} it is not
-- Source: WIRE 17.
--+ number
local count, wrong = number_of(KEYS[1], 0)
if wrong then
    return wrong
end
if (count or 0) == 0 then
    return {ARGV[1], 1}
end
return {ARGV[1], -1, redis.call('pttl', KEYS[1])}
