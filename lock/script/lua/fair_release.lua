-- Sets the owner's hold count to that of the client; at 0 frees the lock, removes the owner
-- from the queue and wakes the head of the queue.
-- KEYS  lock, its queue, until when each place in the queue is valid
-- ARGV  owner, hold count to reach, lease in ms, the time of its place in the
--       queue in ms, the floor of fair_acquire.lua in ms, PUBLISH or SPUBLISH, channel
--       [, the other of them]
-- Reply {owner, hold count[, listeners[, why the message was not sent]]}
--                                         done; listeners if the lock is free
--       {owner, -1, TTL in ms}            this owner does not hold it
-- May be sent any number of times. If the lock is free, the head is notified nevertheless: it
-- may sleep until a TTL that has ended early, or may have become the head now.
-- A server without memory refuses a script whose first write needs memory: so the owner
-- leaves the queue first. Heads whose place has expired are dropped. The place of an owner
-- that leaves the queue is subtracted from those after it, as in fair_acquire.lua.
-- An owner far from both ends of the queue leaves an expired place, which is dropped when it
-- is the head.
-- Another program may have filled the hash: DEL would free each field before the script
-- ends, UNLINK frees them in the background.
-- The head listens on CHANNEL:OWNER, plain or sharded: a listener on both counts once.
-- Source: WIRE 5.2, 11.4, 11.5.
local owner, count = ARGV[1], ARGV[2]
local place, floor = tonumber(ARGV[4]), tonumber(ARGV[5])
local time = redis.call('time')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local found = count == '0' and redis.call('lrange', KEYS[2], '0', '199') or {}
local head, move_up = found[1], nil
if head then
    --+ fair_places
    local function find(list)
        for i, who in ipairs(list) do
            if who == owner then
                return i
            end
        end
        return nil
    end
    local ends = tonumber(redis.call('zscore', KEYS[3], owner) or nil)
    local at, less = find(found), nil
    if at and ends then
        local before = at > 1 and redis.call('zscore', KEYS[3], found[at - 1])
        less = ends - math.max(tonumber(before or nil) or now, now)
    end
    if ends then
        redis.call('zrem', KEYS[3], owner)
    end
    if at then
        redis.call('lrem', KEYS[2], '1', owner)
    elseif #found == WINDOW and find(redis.call('lrange', KEYS[2], -WINDOW, -1)) then
        redis.call('lrem', KEYS[2], '-1', owner)
    elseif #found == WINDOW and ends then
        honour(owner, 1)
    end
    head = drop_stale()
    move_up = function(state)
        if head and (state or less) then
            settle(state, nil, 0, at, less)
        end
    end
end
local reply, is_free = {owner, tonumber(count)}, count == '0'
local held = redis.call('hget', KEYS[1], owner)
if not held then
    local ttl = redis.call('pttl', KEYS[1])
    reply, is_free = {owner, -1, ttl}, is_free and ttl == -2
elseif is_free then
    if redis.pcall('unlink', KEYS[1]) ~= 1 then
        redis.call('del', KEYS[1]) -- an ACL may refuse UNLINK
    end
else
    redis.call('hset', KEYS[1], owner, count)
    local set = redis.pcall('pexpire', KEYS[1], ARGV[3])
    if type(set) == 'table' then
        redis.pcall('hset', KEYS[1], owner, held)
        return set
    end
end
local heard, note = 0, nil
if move_up then
    move_up(is_free and 'free')
end
if is_free and head then
    --+ tell
    heard, note = tell(6, ARGV[7] .. ':' .. head, '0')
end
if reply[2] == 0 then
    reply[3], reply[4] = heard, note
end
return reply
