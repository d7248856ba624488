-- Adds permits, once for each question, however often that is sent, and wakes
-- waiters.
-- KEYS  semaphore, what this question was answered
-- ARGV  question, permits, how long that answer is kept in ms, PUBLISH or SPUBLISH,
--       channel [, the other of them]
-- Reply {question, permits, how many are available now}
-- An error means that nothing was added. The message is how many are available:
-- Redisson wakes as many threads.
-- Source: WIRE 5.2, 15.
local semaphore, answer, permits = KEYS[1], KEYS[2], tonumber(ARGV[2])
local total = tonumber(redis.call('get', answer) or nil)
if not total then
    total = redis.call('incrby', semaphore, permits)
    local kept = redis.pcall('set', answer, total, 'px', ARGV[3])
    if kept.err then
        redis.pcall('decrby', semaphore, permits)
        return kept
    end
    for i = 4, #ARGV, 2 do
        if total > 0 then
            redis.call(ARGV[i], ARGV[5], total)
        end
    end
end
return {ARGV[1], permits, math.max(total, 0)}
