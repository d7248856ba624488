-- Removes places from a fair lock's queue: that of one waiter, or those of waiters
-- that do not listen on their channel. The holder is not touched.
-- KEYS  lock, its queue, until when each place in the queue is valid
-- ARGV  request, waiter ('': those that do not listen), index of the first place to
--       examine, PUBLISH or SPUBLISH, channel [, the other of them]
-- Reply {request, places removed[, index of the next place to examine]}
--       {request, -1, -1}  this waiter has no place
-- Examines at most 200 places per call. A waiter that listens is woken by that, sends
-- its acquire, and waits again. A waiter that is alive and has lost its place enters
-- the queue at its end. If the lock is free, the new head is woken.
-- Source: WIRE 11.3, 11.4.
local waiter, first, channel = ARGV[2], tonumber(ARGV[3]), ARGV[5]
--+ tell
local found = redis.call('lrange', KEYS[2], first, first + 199)
local removed = 0
for _, owner in ipairs(found) do
    local heard, note = 1, nil
    if waiter == '' then
        heard, note = tell(4, channel .. ':' .. owner, '0')
    end
    if note then -- it may listen
        return redis.error_reply(note)
    end
    if owner == waiter or heard == 0 then
        redis.call('zrem', KEYS[3], owner)
        redis.call('lrem', KEYS[2], 1, owner)
        removed = removed + 1
    end
end
local head = removed > 0 and redis.pcall('lindex', KEYS[2], 0)
if type(head) == 'string' and redis.pcall('exists', KEYS[1]) == 0 then
    tell(4, channel .. ':' .. head, '0') -- a refusal after the removal is not an error
end
if #found == 200 and (waiter == '' or removed == 0) then
    return {ARGV[1], removed, first + 200 - removed}
end
if waiter ~= '' and removed == 0 then
    return {ARGV[1], -1, -1}
end
return {ARGV[1], removed}
