-- How many permits are available, those that have lapsed included.
-- KEYS  semaphore, its permits that are out
-- ARGV  question, ''
-- Reply {question, number}; 0 if there is no semaphore
-- Source: WIRE 16.
local available = redis.call('get', KEYS[1])
if not available then
    return {ARGV[1], 0}
end
local time = redis.call('time')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local lapsed = redis.call('zcount', KEYS[2], 0, string.format('%.0f', now))
return {ARGV[1], (tonumber(available) or redis.call('decrby', KEYS[1], 0)) + lapsed}
