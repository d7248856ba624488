-- Gives back what a question has taken; or, if it has taken nothing yet, sees to it
-- that it never does.
-- KEYS  semaphore, what that question was answered
-- ARGV  question, 0, how long the new answer is kept in ms, PUBLISH or SPUBLISH,
--       channel [, the other of them]
-- Reply {question, 0[, permits that are available now]}
-- An error means that nothing was done. A semaphore that was deleted meanwhile is not
-- made anew.
-- Source: WIRE 5.2, 15.
local semaphore, answer = KEYS[1], KEYS[2]
local taken = tonumber(redis.call('get', answer) or 0)
local has_taken = taken ~= 0 and redis.call('exists', semaphore) == 1
local total = has_taken and redis.call('incrby', semaphore, taken)
local kept = redis.pcall('set', answer, 0, 'px', ARGV[3])
if kept.err then
    if has_taken then
        redis.pcall('decrby', semaphore, taken)
    end
    return kept
end
if not has_taken then
    return {ARGV[1], 0}
end
for i = 4, #ARGV, 2 do
    if total > 0 then
        redis.call(ARGV[i], ARGV[5], total)
    end
end
return {ARGV[1], 0, math.max(total, 0)}
