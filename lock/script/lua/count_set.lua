-- Sets the permits of a semaphore or the count of a latch if there is none, once for each
-- request, however often that is sent, and notifies waiters.
-- KEYS  semaphore or latch, the recorded reply to this request
-- ARGV  request, number, how long that record is kept in ms, TTL of the semaphore in ms (0: none),
--       message of a latch ('': a semaphore, whose message is the number), PUBLISH or SPUBLISH,
--       channel[, the other of them]
-- Reply {request, number, listeners[, why the message was not sent]} set
--       {request, -1, -1} there is a number already
-- An error means that nothing was set.
-- Source: WIRE 5.2, 15, 17.
local key, answer, number = KEYS[1], KEYS[2], tonumber(ARGV[2])
--+ number
--+ tell
local before, wrong = number_of(answer, 0)
if not before and not wrong then
    before, wrong = number_of(key, ARGV[5] == '' and -2 ^ 53 or 0)
    if before then
        return {ARGV[1], -1, -1}
    end
end
if wrong then
    return wrong
end
redis.call('set', KEYS[2], number, 'px', ARGV[3])
if before then
    return {ARGV[1], number}
end
local set = ARGV[4] == '0' and redis.pcall('set', KEYS[1], number) or
            redis.pcall('set', KEYS[1], number, 'px', ARGV[4])
if set.err then
    redis.pcall('del', KEYS[2])
    return set
end
return {ARGV[1], number, tell(6, ARGV[7], ARGV[5] ~= '' and ARGV[5] or number)}
