-- Sets a semaphore's permits or a latch's count if there is none, once for each
-- question, however often that is sent, and tells waiters.
-- KEYS  semaphore or latch, what this question was answered
-- ARGV  question, number, how long that answer is kept in ms, message ('': the
--       number), PUBLISH or SPUBLISH, channel [, the other of them]
-- Reply {question, number} set, {question, -1, -1} there is one
-- An error means that nothing was set.
-- Source: WIRE 5.2, 15, 17.
local key, answer, number = KEYS[1], KEYS[2], tonumber(ARGV[2])
if redis.call('exists', answer) == 1 then
    return {ARGV[1], number}
end
if redis.call('exists', key) == 1 then
    return {ARGV[1], -1, -1}
end
redis.call('set', key, number)
local kept = redis.pcall('set', answer, number, 'px', ARGV[3])
if kept.err then
    redis.pcall('del', key)
    return kept
end
for i = 5, #ARGV, 2 do
    redis.call(ARGV[i], ARGV[6], ARGV[4] ~= '' and ARGV[4] or number)
end
return {ARGV[1], number}
