-- Is the latch at 0?
-- KEYS  latch
-- ARGV  question, 1, 0
-- Reply {question, 1} it is, or there is none; {question, -1, TTL in ms} it is not
-- Source: WIRE 17.
local latch = KEYS[1]
local text = redis.call('getrange', KEYS[1], '0', '31')
--+ short_number
if not number then
    --+ number
    local wrong
    number, wrong = number_of(latch, 0, text)
    if wrong then
        return wrong
    end
end
if (number or 0) == 0 then
    return {ARGV[1], 1}
end
return {ARGV[1], -1, redis.call('pttl', KEYS[1])}
