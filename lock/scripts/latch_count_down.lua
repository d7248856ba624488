-- Counts down by one, once for each question, however often that is sent; at 0
-- deletes the latch and opens it for waiters.
-- KEYS  latch, what this question was answered
-- ARGV  question, 1, how long that answer is kept in ms, PUBLISH or SPUBLISH,
--       channel [, the other of them]
-- Reply {question, 1, count}
-- An error means that nothing was counted. Where there is no latch, nothing is.
-- Source: WIRE 5.2, 17.
local latch, answer = KEYS[1], KEYS[2]
local count = redis.call('get', answer)
if count then
    return {ARGV[1], 1, tonumber(count)}
end
if redis.call('exists', latch) == 0 then
    return {ARGV[1], 1, 0}
end
count = redis.call('decrby', latch, 1)
local gone = count > 0 or redis.pcall('del', latch)
if type(gone) == 'table' then -- an error: it is there still
    redis.pcall('incrby', latch, 1)
    return gone
end
local kept = redis.pcall('set', answer, math.max(count, 0), 'px', ARGV[3])
if kept.err then
    redis.pcall('incrby', latch, count > 0 and 1 or count + 1)
    return kept
end
for i = 4, #ARGV, 2 do
    if count == 0 then
        redis.call(ARGV[i], ARGV[5], '0')
    end
end
return {ARGV[1], 1, math.max(count, 0)}
