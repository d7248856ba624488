-- Frees a plain or a fair lock with one holder, and wakes waiters; for a fair lock, the head
-- of its queue, which is kept.
-- KEYS  lock [, its queue [, until when each place in the queue is valid]]
-- ARGV  request, holder ('' for any), PUBLISH or SPUBLISH, channel
--       [, the other of them]
-- Reply {request, 0, listeners[, why the message was not sent]} freed
--       {request, -1, TTL in ms} not locked, or held by another owner;
--       nothing is done, because the key is {request, -2} not a lock, {request, -3} a
--       read-write lock, {request, -4} a fair lock with waiters, whose places
--       were not named, {request, -5, holders} held by several, {request, -6} a multi-lock
-- If the lock is free, its queue is also repaired and its head woken.
-- Only a hash is ever deleted (hlen refuses other keys), and only if its single field is an
-- owner with a count of at least 1, in at most 18 digits. In a cluster the queue is not named,
-- because TRYAGAIN would refuse several keys while their slot is on the move, unless the server
-- refuses keys that are not declared (declare.h). A queue in another
-- slot belongs to no lock: such a name cannot be that of a fair lock (WIRE 2.5).
-- Source: WIRE 1, 2.2, 5.3, 8.3, 11.6, 18.
local holder, channel = ARGV[2], ARGV[4]
--+ tell
local count = redis.call('hlen', KEYS[1])
local function first_waiter()
    local queue, places, place, floor = KEYS[2], KEYS[3], 0, 15000
    local time = redis.call('time')
    local now = time[1] * 1000 + math.floor(time[2] / 1000)
    --+ fair_places
    local head = drop_stale()
    settle('free')
    return head
end
if count == 0 then
    local head = KEYS[3] and first_waiter()
    if head then
        tell(3, channel .. ':' .. head, '0')
    end
    return {ARGV[1], -1, -2}
end
local x = '%x%x%x%x'
local owner = x .. x .. ('%-' .. x):rep(4) .. x .. x .. ':%-?%d+'
local fields = redis.call('hscan', KEYS[1], '0', 'count', '100')[2]
local field, value = fields[1] or '', fields[2] or ''
local mode = redis.call('hget', KEYS[1], 'mode')
if mode == 'read' or mode == 'write' then
    return {ARGV[1], -3}
end
-- A pattern with two repetitions takes the square of the length.
if #field <= 191 and (field:find('^[%w+/]+$') and value:find('^' .. owner)
        or field:find('^[%w+/]+:' .. owner .. '.*:[le][ox][%l_]+$')) then
    return {ARGV[1], -6}
end
if #field > 110 or #value > 18 or not value:find('^%d*[1-9]%d*$')
        or not field:find('^' .. owner .. '$')
        and not field:find('^' .. owner .. ':' .. x:rep(8) .. '$') then
    return {ARGV[1], -2}
end
if count > 1 then
    return {ARGV[1], -5, count}
end
if holder ~= '' and field ~= holder then
    return {ARGV[1], -1, redis.call('pttl', KEYS[1])}
end
if KEYS[3] then
    local head = first_waiter()
    channel = head and channel .. ':' .. head
else
    local lock = KEYS[1]
    KEYS[2] = 'redisson_lock_queue:' ..
        (lock:find('{', 1, true) and lock or '{' .. lock .. '}')
    local queue = redis.pcall('exists', KEYS[2])
    if type(queue) == 'table' and not queue.err:find('non local key', 1, true) then
        return queue
    end
    if queue == 1 then
        return {ARGV[1], -4}
    end
end
redis.call('del', KEYS[1])
if not channel then
    return {ARGV[1], 0, 0}
end
return {ARGV[1], 0, tell(3, channel, '0', true)}
