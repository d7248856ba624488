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
-- the queue come earlier by what is left of its time, as in fair_acquire.lua.
-- The head listens on CHANNEL:OWNER, in one way: a listener in both counts once.
-- Source: WIRE 5.2, 11.4, 11.5.
local lock, queue, places = KEYS[1], KEYS[2], KEYS[3]
--+ tell
local owner, count, floor = ARGV[1], ARGV[2], ARGV[5]
local time = redis.call('time')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local mine = count == '0' and redis.call('zscore', places, owner)
if mine then
    local is_behind, place = false, tonumber(ARGV[4])
    local unused = math.max(math.min(place, tonumber(mine) - now), 0)
    local all = redis.call('lrange', queue, 0, -1)
    redis.call('zrem', places, owner)
    redis.call('lrem', queue, 0, owner)
    for _, other in ipairs(all) do
        local ends = tonumber(redis.call('zscore', places, other) or nil)
        if is_behind and ends then
            ends = math.min(ends, math.max(ends - unused, now + floor))
            redis.call('zadd', places, string.format('%.0f', ends), other)
        end
        is_behind = is_behind or other == owner
    end
elseif count == '0' then
    redis.call('lrem', queue, 0, owner) -- it may have lost its time
end
local head
repeat
    head = redis.call('lindex', queue, 0)
    local ends = head and tonumber(redis.call('zscore', places, head) or nil)
    local is_stale = ends and ends <= now
    if is_stale then
        redis.call('zrem', places, head)
        redis.call('lpop', queue)
    end
until not is_stale
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
if is_free and head then
    heard, note = tell(6, ARGV[7] .. ':' .. head, '0')
end
if reply[2] == 0 then
    reply[3], reply[4] = heard, note
end
return reply
