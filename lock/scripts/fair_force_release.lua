-- Frees a fair lock that one owner holds, whoever that is, and wakes the head of its
-- queue. The queue stays.
-- KEYS  lock, its queue, until when each place in the queue is honoured
-- ARGV  request, holder ('' for whoever), PUBLISH or SPUBLISH, channel
--       [, the other of them]
-- Reply {request, 0, listeners} freed, {request, -1, TTL in ms} not locked, or by
--       another;
--       nothing is done, for it is {request, -2} no lock, {request, -3} a
--       read-write lock, {request, -5, holders} held by several, {request, -6} a
--       multi-lock
-- What is deleted, and what never is: force_release.lua. A fair lock that nobody
-- waits for looks like a plain one. Source: WIRE 1, 11.6, 18.
local lock, holder = KEYS[1], ARGV[2]
local count = redis.call('hlen', lock)
if count == 0 then
    return {ARGV[1], -1, -2}
end
local x = '%x%x%x%x'
local owner = x .. x .. ('%-' .. x):rep(4) .. x .. x .. ':%-?%d+'
local fields = redis.call('hscan', lock, 0, 'count', 100)[2]
local field, value = fields[1] or '', fields[2] or ''
local mode = redis.call('hget', lock, 'mode')
if mode == 'read' or mode == 'write' then
    return {ARGV[1], -3}
end
if field:find('^[%w+/]+$') and value:find('^' .. owner)
        or field:find('^[%w+/]+:' .. owner .. '.*:[le][ox][%l_]+$') then
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
    return {ARGV[1], -1, redis.call('pttl', lock)}
end
local time = redis.call('time')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local head
repeat
    head = redis.call('lindex', KEYS[2], 0)
    local ends = head and tonumber(redis.call('zscore', KEYS[3], head) or nil)
    local is_stale = ends and ends <= now
    if is_stale then
        redis.call('zrem', KEYS[3], head)
        redis.call('lpop', KEYS[2])
    end
until not is_stale
redis.call('del', lock)
local heard = head and redis.call(ARGV[3], ARGV[4] .. ':' .. head, '0') or 0
if head and ARGV[5] then
    heard = math.max(heard, redis.call(ARGV[5], ARGV[4] .. ':' .. head, '0'))
end
return {ARGV[1], 0, heard}
