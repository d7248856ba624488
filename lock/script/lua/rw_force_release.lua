-- Frees a read-write lock that readers or a writer hold, and wakes waiters.
-- KEYS  lock
-- ARGV  request, holder ('' for any), the side: read or write,
--       PUBLISH or SPUBLISH, channel [, the other of them]
-- Reply {request, 0, listeners} freed, {request, -1, TTL in ms} held by another
--       owner, or free (TTL -2);
--       nothing is done, because it is {request, -2} not a read-write lock,
--       {request, -3} held on the other side, {request, -5, holders} read by several
-- The read holds of a writer are removed together with its write hold. Hold keys remain until
-- they expire: without the holder's field they have no effect. Only a hash is ever deleted, and
-- only if its fields are `mode` and owners. If there are more than 16 listeners, a second
-- message has their number (channel.h, TURN-2). Source: WIRE 1, 5.3, 12.5, 18.
local holder, side = ARGV[2], ARGV[3]
--+ tell
local x = '%x%x%x%x'
local owner = '^' .. x .. x .. ('%-' .. x):rep(4) .. x .. x .. ':%-?%d+'
local function is_owner(field)
    local rest = #field <= 120 and field:match(owner .. '(.*)$')
    rest = rest and rest:gsub('^:write', '')
    return rest == '' or rest and rest:find('^:' .. x:rep(8) .. '$')
end
local count = redis.call('hlen', KEYS[1])
if count == 0 then
    return {ARGV[1], -1, -2}
end
local fields = redis.call('hscan', KEYS[1], '0', 'count', '100')[2]
for i = 1, #fields, 2 do
    if fields[i] ~= 'mode' and
            not (is_owner(fields[i]) and fields[i + 1]:find('^%d+$')) then
        return {ARGV[1], -2}
    end
end
local mode = redis.call('hget', KEYS[1], 'mode')
if mode ~= side then
    return {ARGV[1], (mode == 'read' or mode == 'write') and -3 or -2}
end
if holder ~= '' and redis.call('hexists', KEYS[1], holder) == 0 then
    return {ARGV[1], -1, redis.call('pttl', KEYS[1])}
end
if holder ~= '' and side == 'read' and count > 2 then
    return {ARGV[1], -5, count - 1}
end
if count <= 500 or redis.pcall('unlink', KEYS[1]) ~= 1 then
    redis.call('del', KEYS[1]) -- frees each field before the script ends
end
return {ARGV[1], 0, tell(4, ARGV[5], side == 'read' and '0' or '1', true)}
