-- Deletes a semaphore, once for each request, however often that is sent, unless expirable permits
-- of that name are in use.
-- KEYS  semaphore, its expirable permits in use, the recorded reply to this request
-- ARGV  request, 1, how long that record is kept in ms
-- Reply {request, 1}        deleted; its waiters keep waiting
--       {request, -1, -1}   there is none
--       {request, -1, N}    not deleted, because N permits are in use
-- An error means that nothing was done. Without their number, permits in use would add up to more
-- than there were. Permits that have expired end with it. A second key of another type is another
-- program's. latch_delete.lua explains the first DEL.
-- Source: WIRE 15, 16.
local semaphore, out, answer = KEYS[1], KEYS[2], KEYS[3]
--+ number
local number, wrong = number_of(answer, 0)
if number then
    redis.call('set', KEYS[3], '1', 'px', ARGV[3])
    return {ARGV[1], 1}
end
if not wrong then
    number, wrong = number_of(semaphore, -2 ^ 53)
end
if not number then
    return wrong or {ARGV[1], -1, -1}
end
local time = redis.call('time')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local used = redis.pcall('zcount', KEYS[2], string.format('(%.0f', now), '+inf')
local is_ours = type(used) ~= 'table'
if not is_ours and not used.err:find('WRONGTYPE', 1, true) then
    return used
end
if is_ours and used > 0 then
    return {ARGV[1], -1, used}
end
redis.call('del', KEYS[3])
redis.call('set', KEYS[3], '1', 'px', ARGV[3])
local gone = redis.pcall('del', KEYS[1])
if gone ~= 1 then
    redis.pcall('del', KEYS[3])
    return gone
end
if is_ours then
    redis.pcall('del', KEYS[2])
end
return {ARGV[1], 1}
