-- Counts down by one, once for each request, however often that is sent; at 0 deletes the
-- latch and notifies waiters.
-- KEYS  latch, the recorded reply to this request
-- ARGV  request, 1, how long that record is kept in ms, PUBLISH or SPUBLISH,
--       channel [, the other of them]
-- Reply {request, 1, count[, why the message was not sent]}
-- An error means that nothing was counted; nor is it if there is no latch. A latch that another
-- program has set to 0 is deleted. semaphore_acquire.lua explains why the record is written
-- again.
-- Source: WIRE 5.2, 17.
local latch, answer = KEYS[1], KEYS[2]
local text = redis.pcall('getrange', KEYS[1], '0', '31')
--+ short_number
if number and number > 1
    and redis.call('set', KEYS[2], number - 1, 'px', ARGV[3], 'nx') then
    local reached = redis.pcall('decrby', KEYS[1], '1')
    if type(reached) == 'table' then
        redis.pcall('del', KEYS[2])
        return reached
    end
    return {ARGV[1], 1, reached}
end
--+ number
--+ tell
local left, count, wrong
if redis.call('exists', KEYS[2]) == 1 then
    left, wrong = number_of(answer, 0)
else
    count, wrong = number_of(latch, 0, text)
end
if wrong then
    return wrong
end
if not left and not count then
    return {ARGV[1], 1, 0}
end
if left then
    redis.call('set', KEYS[2], left, 'px', ARGV[3])
    return {ARGV[1], 1, left}
end
if count > 1 then
    redis.call('decrby', KEYS[1], 1)
else
    redis.call('del', KEYS[1])
end
local kept = redis.pcall('set', KEYS[2], math.max(count - 1, 0), 'px', ARGV[3])
if kept.err then
    redis.pcall('incrby', KEYS[1], count > 1 and 1 or count)
    return kept
end
local heard, note = 0, nil
if count == 1 then
    heard, note = tell(4, ARGV[5], '0')
end
return {ARGV[1], 1, math.max(count - 1, 0), note}
