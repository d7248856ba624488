-- Takes permits, once for each question, however often that is sent.
-- KEYS  semaphore, what this question was answered
-- ARGV  question, permits, how long that answer is kept in ms
-- Reply {question, permits}             taken
--       {question, -1, -1}              too few are available, or none is there;
--                                       or the question was given up
-- An error means that nothing was taken. The answer is kept only if permits were
-- taken: their number.
-- Source: WIRE 15.
local semaphore, answer, permits = KEYS[1], KEYS[2], tonumber(ARGV[2])
local taken = redis.call('get', answer)
if not taken then
    local available = redis.call('get', semaphore)
    if not available or (tonumber(available) or permits) < permits then
        return {ARGV[1], -1, -1}
    end
    redis.call('decrby', semaphore, permits)
    local kept = redis.pcall('set', answer, permits, 'px', ARGV[3])
    if kept.err then
        redis.pcall('incrby', semaphore, permits)
        return kept
    end
elseif tonumber(taken) ~= permits then
    return {ARGV[1], -1, -1}
end
return {ARGV[1], permits}
