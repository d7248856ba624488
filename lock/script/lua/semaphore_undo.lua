-- Releases the permits that a request has taken; if it has taken none yet, prevents that it
-- takes any later.
-- KEYS  semaphore, the recorded reply to that request
-- ARGV  request, 0, how long the new record is kept in ms, PUBLISH or SPUBLISH,
--       channel [, the other of them]
-- Reply {request, 0[, permits that are available now[, why the message was not sent]]}
-- An error means that nothing was done. A semaphore that was deleted meanwhile is not
-- created again.
-- Source: WIRE 5.2, 15.
local semaphore, answer = KEYS[1], KEYS[2]
--+ number
--+ tell
local taken, wrong = number_of(answer, 0)
local available
if not wrong and (taken or 0) > 0 then
    available, wrong = number_of(semaphore, -2 ^ 53)
end
if wrong or available and available > 2 ^ 53 - taken then
    return wrong or refusal(semaphore)
end
local ttl = available and redis.call('pttl', KEYS[2])
redis.call('set', KEYS[2], 0, 'px', ARGV[3])
if not available then
    return {ARGV[1], 0}
end
local total = redis.pcall('incrby', KEYS[1], taken)
if type(total) == 'table' then
    redis.pcall('set', KEYS[2], taken, 'px', math.max(ttl, 1))
    return total
end
local heard, note = 0, nil
if total > 0 then
    heard, note = tell(4, ARGV[5], total)
end
return {ARGV[1], 0, math.max(total, 0), note}
