-- Adds permits, once for each request, however often that is sent, and wakes waiters.
-- KEYS  semaphore, the recorded reply to this request
-- ARGV  request, permits, how long that record is kept in ms, '' (otherwise: only to a semaphore
--       that exists), PUBLISH or SPUBLISH, channel [, the other of them]
-- Reply {request, permits, the number of available permits[, why the message was not sent]}
--       {request, -1, -1}  there is none, and ARGV[4] is not ''
-- An error means that nothing was added. The message is the number of available permits:
-- Redisson wakes as many threads. semaphore_acquire.lua explains why the record is written
-- again.
-- Source: WIRE 5.2, 15.
local semaphore, answer, permits = KEYS[1], KEYS[2], tonumber(ARGV[2])
local text = redis.pcall('getrange', KEYS[1], '0', '31')
--+ short_number
local total = number and number + permits
if not total or total > 2 ^ 53
    or not redis.call('set', KEYS[2], total, 'px', ARGV[3], 'nx') then
    --+ number
    local available, wrong
    total = nil
    if redis.call('exists', KEYS[2]) == 1 then
        total, wrong = number_of(answer, -2 ^ 53)
    else
        available, wrong = number_of(semaphore, -2 ^ 53, text)
    end
    if wrong or not total and (available or 0) > 2 ^ 53 - permits then
        return wrong or refusal(semaphore)
    end
    if not total and not available and ARGV[4] ~= '' then
        return {ARGV[1], -1, -1}
    end
    redis.call('set', KEYS[2], total or (available or 0) + permits, 'px', ARGV[3])
    if total then
        return {ARGV[1], permits, math.max(total, 0)}
    end
end
total = redis.pcall('incrby', KEYS[1], ARGV[2])
if type(total) == 'table' then
    redis.pcall('del', KEYS[2])
    return total
end
local heard, note = 0, nil
if total > 0 then
    if ARGV[5] == 'SPUBLISH' then
        heard = redis.pcall('spublish', ARGV[6], total)
    else
        heard = redis.pcall('publish', ARGV[6], total)
    end
    if heard ~= 0 or ARGV[7] then
        --+ tell
        heard, note = tell(5, ARGV[6], total, false, heard)
    end
end
return {ARGV[1], permits, math.max(total, 0), note}
