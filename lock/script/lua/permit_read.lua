-- Returns the number of available permits, including those that have expired.
-- KEYS  semaphore, its permits in use
-- ARGV  request, ''
-- Reply {request, number}; 0 if there is no semaphore
-- Source: WIRE 16.
--+ number
local available, wrong = number_of(KEYS[1], -2 ^ 53)
if wrong or not available then
    return wrong or {ARGV[1], 0}
end
local time = redis.call('time')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local lapsed = redis.call('zcount', KEYS[2], 0, string.format('%.0f', now))
if available > 2 ^ 53 - lapsed then
    return refusal(KEYS[1])
end
return {ARGV[1], available + lapsed}
