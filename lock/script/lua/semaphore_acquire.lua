-- Takes permits, once for each request, however often that is sent.
-- KEYS  semaphore, the recorded reply to this request
-- ARGV  request, permits, how long that record is kept in ms
-- Reply {request, permits}             taken
--       {request, -1, -1}              too few are available, or the semaphore does
--                                       not exist, or the request was cancelled
-- An error means that nothing was taken. A reply is recorded only if permits were taken: their
-- number. The record is written again when the request is sent again, because WAIT confirms
-- only what this connection has written (extend.lua).
-- Source: WIRE 15.
local semaphore, answer, permits = KEYS[1], KEYS[2], tonumber(ARGV[2])
local text = redis.pcall('getrange', KEYS[1], '0', '31')
--+ short_number
if number and number < permits and redis.call('exists', KEYS[2]) == 0 then
    return {ARGV[1], -1, -1}
end
local taken
if not number or number < permits
    or not redis.call('set', KEYS[2], ARGV[2], 'px', ARGV[3], 'nx') then
    --+ number
    local available, wrong
    if redis.call('exists', KEYS[2]) == 1 then
        taken, wrong = number_of(answer, 0)
    else
        available, wrong = number_of(semaphore, -2 ^ 53, text)
    end
    if wrong then
        return wrong
    end
    if (taken or available or -1) < permits then
        return {ARGV[1], -1, -1}
    end
    redis.call('set', KEYS[2], ARGV[2], 'px', ARGV[3])
end
local left = taken or redis.pcall('decrby', KEYS[1], ARGV[2])
if type(left) == 'table' then
    redis.pcall('del', KEYS[2])
    return left
end
return {ARGV[1], permits}
