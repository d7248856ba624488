-- Takes the lock, or sets the owner's hold count to what the client counted; or
-- puts the owner into the queue, and keeps its place for it.
-- KEYS  lock, its queue, until when each place in the queue is honoured[,
--       counter of its fencing tokens]
-- ARGV  owner, hold count to reach, lease in ms, how long a place outlasts silence
--       in ms (0: it is not to wait), what the others' places keep at least when the
--       head is granted: the floor, in ms[, retention of the counter: token.lua]
-- Reply {owner, hold count[, token]}            held
--       {owner, -1, TTL in ms, field, its value, '', length of the field, of the value}
--                       not held; this field keeps it or, if it is free, the head of
--                       the queue, with the value 1. Texts are cut to 191 bytes; the
--                       lengths are the true ones
-- A first acquire (to reach: 1) takes a free lock if nobody is before it; a re-entry
-- does not, because then the hold was lost. May be sent any number of times. An
-- error means that nothing was acquired: a lock that cannot get its TTL is taken
-- back.
-- Heads whose time is over are dropped, but not the one that asks. Its own place is
-- honoured for its own time, behind that of the one before it, and as long as it asks.
-- By the server's clock. (Redisson, whose waiters do not ask again, adds the lock's TTL.)
-- If one of the two keys was lost, as by a server that was emptied while their slot
-- moved, a head without a time is given a lease's, and times without a queue are
-- deleted: nobody would ever drop them. (ZRANGE refuses a key of another type, and then
-- nothing is done.)
-- When the head is granted, the others come earlier by what is left of its time. One of
-- them may have asked just now: each keeps the floor, within which it asks again.
-- While the lock is free, but another's, the TTL is 20 to 250 ms: Redisson's waiters
-- leave the queue without a word. Source: WIRE 11.2.
local lock, queue, places = KEYS[1], KEYS[2], KEYS[3]
local owner, count, lease, place = ARGV[1], ARGV[2], ARGV[3], tonumber(ARGV[4])
local floor, counter, retention = ARGV[5], KEYS[4], ARGV[6]
local time = redis.call('time')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local function honour(who, until_ms)
    redis.call('zadd', places, string.format('%.0f', until_ms), who)
end
local head, ends
repeat
    head = redis.call('lindex', queue, 0)
    ends = head and tonumber(redis.call('zscore', places, head) or nil)
    if head and not ends then
        ends = now + lease
        honour(head, ends)
    end
    local is_stale = ends and ends <= now and head ~= owner
    if is_stale then
        redis.call('zrem', places, head)
        redis.call('lpop', queue)
    end
until not is_stale
if not head and redis.call('zrange', places, 0, 0)[1] then
    redis.call('del', places)
end
local ttl = redis.call('pttl', lock)
local is_free = ttl == -2 and count == '1' and (not head or head == owner)
local held = not is_free and redis.call('hget', lock, owner)
if is_free or held then
    --+ token
    redis.call('hset', lock, owner, count)
    local set = redis.pcall('pexpire', lock, lease)
    if set ~= 1 then
        if is_free then
            redis.pcall('del', lock)
        else
            redis.pcall('hset', lock, owner, held)
        end
        return set
    end
    if is_free and head then
        local unused = math.max(math.min(place, ends - now), 0)
        redis.call('lpop', queue)
        redis.call('zrem', places, owner)
        for _, other in ipairs(redis.call('zrange', places, 0, -1)) do
            local until_ms = tonumber(redis.call('zscore', places, other))
            honour(other, math.min(until_ms,
                math.max(until_ms - unused, now + floor)))
        end
    end
    return {owner, tonumber(count), token}
end
if count == '1' and place > 0 then
    local mine = tonumber(redis.call('zscore', places, owner) or nil)
    if not mine then
        redis.call('lrem', queue, 0, owner)
        local last = redis.call('lindex', queue, -1)
        local before = last and last ~= owner and redis.call('zscore', places, last)
        redis.call('rpush', queue, owner)
        honour(owner, place + (tonumber(before or nil) or now))
    elseif mine < now + place then
        honour(owner, now + place)
    end
end
if ttl == -2 and head then
    return {owner, -1, math.max(math.min((ends or now + 250) - now, 250), 20),
            head:sub(1, 191), '1', '', #head, 1}
end
local fields = redis.call('hscan', lock, 0, 'count', 2)[2]
local i = fields[1] == 'mode' and fields[3] and 3 or 1
local field, value = fields[i] or '', fields[i + 1] or '0'
return {owner, -1, ttl, field:sub(1, 191), value:sub(1, 191), '', #field, #value}
