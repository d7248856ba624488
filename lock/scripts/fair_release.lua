-- Sets the owner's hold count to what the client counted; at 0 frees the lock and
-- wakes the head of the queue, and the owner leaves the queue, if it stands there.
-- KEYS  lock, its queue, until when each place in the queue is honoured
-- ARGV  owner, hold count to reach, lease in ms, the time that its place had in the
--       queue in ms, the floor of fair_acquire.lua in ms, PUBLISH or SPUBLISH, channel
--       [, the other of them]
-- Reply {owner, hold count[, listeners[, why the message was not sent]]}
--                                         done; listeners if the lock is free
--       {owner, -1, TTL in ms}            this owner does not hold it
-- May be sent any number of times. If nobody holds the lock, the head is told all the
-- same: it may be asleep on a TTL that has ended early, or have become the head now.
-- A full server refuses a script whose first write needs memory: so it leaves the
-- queue first. Heads whose time is over are dropped. Those behind an owner that leaves
-- the queue come earlier by its place, as in fair_acquire.lua.
-- An owner far from both ends of the queue leaves a place whose time is over, which is
-- dropped when it is the head.
-- The head listens on CHANNEL:OWNER, in one way: a listener in both counts once.
-- Source: WIRE 5.2, 11.4, 11.5.
local lock, queue, places = KEYS[1], KEYS[2], KEYS[3]
--+ tell
local owner, count = ARGV[1], ARGV[2]
local place, floor = tonumber(ARGV[4]), tonumber(ARGV[5])
local time = redis.call('time')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
--+ fair_places
local function find(from, to)
    local found = redis.call('lrange', queue, from, to)
    for i, who in ipairs(found) do
        if who == owner then
            return i, found[i - 1], #found
        end
    end
    return nil, nil, #found
end
local first, less
if count == '0' then
    local at, before, length = find(0, WINDOW - 1)
    local ends = length > 0 and tonumber(redis.call('zscore', places, owner) or nil)
    if at and ends then
        before = tonumber(before and redis.call('zscore', places, before) or nil)
        first, less = at, ends - math.max(before or now, now)
    end
    if ends then
        redis.call('zrem', places, owner)
    end
    if at then
        redis.call('lrem', queue, 1, owner)
    elseif length == WINDOW and find(-WINDOW, -1) then
        redis.call('lrem', queue, -1, owner)
    elseif length == WINDOW and ends then
        honour(owner, 1)
    end
end
local head = drop_stale()
local reply, is_free = {owner, tonumber(count)}, count == '0'
local held = redis.call('hget', lock, owner)
if not held then
    local ttl = redis.call('pttl', lock)
    reply, is_free = {owner, -1, ttl}, is_free and ttl == -2
elseif is_free then
    redis.call('del', lock)
else
    redis.call('hset', lock, owner, count)
    local set = redis.pcall('pexpire', lock, ARGV[3])
    if type(set) == 'table' then
        redis.pcall('hset', lock, owner, held)
        return set
    end
end
local heard, note = 0, nil
if head and (is_free or less) then
    settle(is_free and 'free', nil, 0, first, less)
end
if is_free and head then
    heard, note = tell(6, ARGV[7] .. ':' .. head, '0')
end
if reply[2] == 0 then
    reply[3], reply[4] = heard, note
end
return reply
