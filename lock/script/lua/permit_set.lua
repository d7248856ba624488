-- Sets the number of permits, those in use included, once for each request, however often that is
-- sent, and wakes waiters if more are available.
-- KEYS  semaphore, its permits in use, the recorded reply to this request
-- ARGV  request, number, how long that record is kept in ms, PUBLISH or SPUBLISH, channel
--       [, the other of them]
-- Reply {request, number[, listeners[, why the message was not sent]]}
-- An error means that nothing was changed. With fewer permits than are in use, the number of
-- available permits becomes negative. INCRBY keeps a TTL. The message is the number of available
-- permits.
-- Source: WIRE 5.2, 16.
local semaphore, answer, number = KEYS[1], KEYS[3], tonumber(ARGV[2])
--+ number
--+ tell
local done, wrong = number_of(answer, 0)
local available
if not done and not wrong then
    available, wrong = number_of(semaphore, -2 ^ 53)
end
if wrong then
    return wrong
end
local free = number - redis.call('zcount', KEYS[2], '0', '+inf')
redis.call('set', KEYS[3], number, 'px', ARGV[3])
if done or free == available then
    return {ARGV[1], number}
end
local total = redis.pcall('incrby', KEYS[1], free - (available or 0))
if type(total) == 'table' then
    redis.pcall('del', KEYS[3])
    return total
end
if free > 0 and free > (available or 0) then
    return {ARGV[1], number, tell(4, ARGV[5], free)}
end
return {ARGV[1], number}
