-- Removes permits, once for each request, however often that is sent.
-- KEYS  semaphore, the recorded reply to this request
-- ARGV  request, permits (0: all that are available), how long that record is kept in ms
-- Reply {request, permits, how many were removed}
--       {request, -1, -1}  there is no semaphore
-- An error means that nothing was removed. The number of available permits may become
-- negative. semaphore_acquire.lua explains why the record is written again.
-- Source: WIRE 15.
local semaphore, answer, permits = KEYS[1], KEYS[2], tonumber(ARGV[2])
--+ number
local removed, available, wrong
if redis.call('exists', KEYS[2]) == 1 then
    removed, wrong = number_of(answer, 0)
else
    available, wrong = number_of(semaphore, -2 ^ 53)
end
if not removed and not available then
    return wrong or {ARGV[1], -1, -1}
end
if not removed and available < permits - 2 ^ 53 then
    return refusal(semaphore)
end
local is_done = removed
removed = removed or permits > 0 and permits or math.max(available, 0)
redis.call('set', KEYS[2], removed, 'px', ARGV[3])
if is_done or removed == 0 then
    return {ARGV[1], permits, removed}
end
local left = redis.pcall('decrby', KEYS[1], removed)
if type(left) == 'table' then
    redis.pcall('del', KEYS[2])
    return left
end
return {ARGV[1], permits, removed}
