-- Takes permits, once for each question, however often that is sent.
-- KEYS  semaphore, what this question was answered
-- ARGV  question, permits, how long that answer is kept in ms
-- Reply {question, permits}             taken
--       {question, -1, -1}              too few are available, or none is there;
--                                       or the question was given up
-- An error means that nothing was taken. The answer is kept only if permits were
-- taken: their number. It is written again when the question is sent again: by WAIT, a
-- server confirms only what the connection has written (extend.lua).
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
