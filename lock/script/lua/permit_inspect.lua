-- How many permits are out, and until when.
-- KEYS  semaphore, its permits in use
-- ARGV  request, owner to look for ('' for none)
-- Reply {request, -1, ms until the last of them lapses (-1: one never does, -2: none
--        is out), '', '0', '', 0, 1, 1 if that owner has one, how many are out, 0}
-- Source: WIRE 16.
--+ number
local _, wrong = number_of(KEYS[1], -2 ^ 53)
if wrong then
    return wrong
end
local time = redis.call('time')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local owner = ARGV[2]
--+ permit_id
local held = tonumber(redis.call('zscore', KEYS[2], id) or nil)
local count = redis.call('zcount', KEYS[2], string.format('(%.0f', now), '+inf')
local last = redis.call('zrange', KEYS[2], -1, -1, 'withscores')[2]
local left = last and tonumber(last) < 922337203685477 and tonumber(last) - now or -1
return {ARGV[1], -1, count == 0 and -2 or left, '', '0', '', 0, 1,
        held and held > now and 1 or 0, count, 0}
