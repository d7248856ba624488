-- Returns whether the latch is at 0.
-- KEYS  latch
-- ARGV  request, 1, 0
-- Reply {request, 1} it is at 0 or does not exist; {request, -1, TTL in ms} it is not at 0
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
