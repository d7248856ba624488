-- Acquires the lock, or sets the owner's hold count to that of the client; or adds the owner
-- to the queue, and extends its place.
-- KEYS  lock, its queue, until when each place in the queue is valid[,
--       counter of its fencing tokens]
-- ARGV  owner, hold count to reach, lease in ms, how long a place is valid without a
--       request in ms (0: the call does not wait), the floor: within how many ms a
--       waiter sends its next acquire[, retention of the counter: token.lua][, ms since its last
--       acquire, PUBLISH or SPUBLISH, channel[, the other of them]]
-- Reply {owner, hold count[, token]}            held
--       {owner, -1, TTL in ms, field, its value, '', length of the field, of the value}
--                              not held: this field prevents it; or, if the lock is
--                              free, the head of the queue, and 1
-- Texts are cut to 191 bytes; the lengths are the true ones.
-- A first acquire (to reach: 1) takes a free lock if no waiter is before it; a re-entry does
-- not, because then the hold was lost. May be sent any number of times. An error means that
-- nothing was acquired: a lock whose TTL cannot be set is released.
-- Heads whose place has expired are dropped, except the owner itself, unless the owner holds
-- the lock. The place of a waiter is valid for its own time after that of the waiter before
-- it, and as long as it sends acquires: fair_places.lua. The clock is the server's. (Redisson
-- adds the TTL of the lock.)
-- If one of the two keys was lost, for example because a server was emptied while their slot
-- moved, a head without a time is given that of a lease, and times of owners that are not in
-- the queue are deleted, because no script would drop them. (ZRANGE refuses a key of another
-- type, and then nothing is changed.)
-- When the head is granted the lock, the rest of its time is subtracted from the others.
-- While the lock is free and it is another waiter's turn, the TTL is 20 to 250 ms: waiters of
-- Redisson leave the queue without a notification. A waiter that has waited wakes the head
-- each time, because it may be asleep. If expired heads remain, the TTL is 1 ms. Source: WIRE 11.2.
local owner, count, lease, place = ARGV[1], ARGV[2], ARGV[3], tonumber(ARGV[4])
local floor, counter, retention = tonumber(ARGV[5]), KEYS[4], ARGV[6]
local time = redis.call('time')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local head = redis.call('lindex', KEYS[2], '0')
local ttl = redis.call('pttl', KEYS[1])
local is_free = ttl == -2 and count == '1' and not head
local held = not is_free and redis.call('hget', KEYS[1], owner)
local leave_queue
if is_free then
    for _, who in ipairs(redis.call('zrange', KEYS[3], '0', '199')) do
        if who:find('^%x+%-[%x-]+:%-?%d+$') then
            redis.call('zrem', KEYS[3], who)
        end
    end
elseif not held then
    --+ fair_places
    local ends, is_stale
    head, ends, is_stale = drop_stale(owner)
    if head and not ends then
        ends = now + lease
        honour(head, ends)
    end
    is_free = ttl == -2 and count == '1' and (not head or head == owner)
    leave_queue = function()
        redis.call('lpop', KEYS[2])
        redis.call('zrem', KEYS[3], owner)
        settle('held', nil, 0, 1, ends - now)
    end
    if not is_free and count == '1' and place > 0 then
        local i = counter and 7 or 6
        local mine = redis.call('zscore', KEYS[3], owner)
        if not mine then
            local last = redis.call('lrange', KEYS[2], '-1', '-1')[1]
            local before = tonumber(last and redis.call('zscore', KEYS[3], last) or nil)
            before = before and before <= now + FAR and math.max(before, now) or now
            for _, who in ipairs(redis.call('lrange', KEYS[2], '0', '199')) do
                if who == owner then
                    redis.call('lrem', KEYS[2], 1, owner) -- it had lost its time
                end
            end
            redis.call('rpush', KEYS[2], owner)
            redis.call('zadd', KEYS[3],
                string.format('%.17g', math.floor(before + place) + mark(owner)), owner)
        end
        local silence = mine and tonumber(ARGV[i] or 0) or 0
        local first, at = settle(ttl == -2 and 'free' or 'held', owner, silence)
        if mine and not at then
            honour(owner, math.floor(math.max(mine + silence, now + place)) + mark(owner))
        end
        ends = head and first
        if head and ttl == -2 and ARGV[i + 1] then
            --+ tell
            tell(i + 1, ARGV[i + 2] .. ':' .. head, '0')
        end
    elseif not is_free and head and ttl == -2 then
        ends = settle('free')
    end
    if not is_free and ttl == -2 and head then
        local left = math.max(math.min((ends or now + 250) - now, 250), 20)
        return {owner, -1, is_stale and 1 or math.ceil(left),
                head:sub(1, 191), '1', '', #head, 1}
    end
end
if is_free or held then
    --+ token
    redis.call('hset', KEYS[1], owner, count)
    local set = redis.pcall('pexpire', KEYS[1], lease)
    if set ~= 1 then
        if is_free then
            redis.pcall('del', KEYS[1])
        else
            redis.pcall('hset', KEYS[1], owner, held)
        end
        return set
    end
    if is_free and head then
        leave_queue()
    end
    return {owner, tonumber(count), token}
end
local fields = redis.call('hscan', KEYS[1], '0', 'count', '2')[2]
local i = fields[1] == 'mode' and fields[3] and 3 or 1
local field, value = fields[i] or '', fields[i + 1] or '0'
return {owner, -1, ttl, field:sub(1, 191), value:sub(1, 191), '', #field, #value}
