-- Releases the permit of one owner, or all that are in use, and wakes waiters.
-- KEYS  semaphore, its permits in use
-- ARGV  request, owner ('' for all), PUBLISH or SPUBLISH, channel [, the other of
--       them]
-- Reply {request, 0, listeners[, why the message was not sent]} released
--       {request, -1, -2} none of these is in use
-- permit_extend.lua explains the ZREM of a member that does not exist.
-- Source: WIRE 5.2, 16.
local semaphore, out, owner = KEYS[1], KEYS[2], ARGV[2]
--+ number
--+ tell
local available, wrong = number_of(semaphore, -2 ^ 53)
if wrong then
    return wrong
end
local count = redis.call('zcard', KEYS[2])
--+ permit_id
if owner ~= '' then
    count = redis.call('zscore', KEYS[2], id) and 1 or 0
end
if count == 0 then
    return {ARGV[1], -1, -2}
end
if (available or 0) > 2 ^ 53 - count then
    return refusal(semaphore)
end
redis.call('zrem', KEYS[2], '')
local total = redis.call('incrby', KEYS[1], count)
local removed
if owner ~= '' then
    removed = redis.pcall('zrem', KEYS[2], id)
elseif count > 500 and redis.pcall('unlink', KEYS[2]) == 1 then
    removed = 1 -- DEL frees each member before the script ends
else
    removed = redis.pcall('del', KEYS[2])
end
if removed ~= 1 then -- an error: they are out still
    redis.pcall('decrby', KEYS[1], count)
    return removed
end
local heard, note = 0, nil
if total > 0 then
    heard, note = tell(3, ARGV[4], total)
end
return {ARGV[1], 0, heard, note}
