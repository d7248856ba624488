-- Sets the count of the write hold to that of the client; at 0 frees the lock, or leaves it to
-- the readers if the owner also reads; wakes waiters.
-- KEYS  lock
-- ARGV  owner (its field, which ends in :write), hold count to reach, lease in ms,
--       PUBLISH or SPUBLISH, channel [, the other of them]
-- Reply {owner, hold count}       done; the write hold remains
--       {owner, 0, listeners}     done; it is free, or only read now
--       {owner, -1, TTL in ms}    this owner does not hold it; TTL -2: it is free
-- May be sent any number of times. If the lock is free, waiters are woken nevertheless: they
-- may sleep until a TTL that has ended early. When a
-- writer becomes a reader, waiting readers are woken (by the message 1, as always); Redisson
-- lets them sleep until the TTL ends.
-- The TTL becomes `lease` and then, without the write hold, that of the read hold that lasts
-- longest; with read holds it is never less than theirs. It is not shortened if one of their
-- keys is missing: the key may have expired, or be on another node while the slot moves.
-- One call reads at most 300 fields and 500 hold keys, whatever others wrote. Fields that it
-- does not read count as read holds that last until the TTL of the lock ends.
-- A client that listens on both channels is counted once. If there are more than 16 listeners,
-- a second message has their number (channel.h, TURN-2); Redisson ignores numbers other than 0
-- and 1.
-- read_acquire.lua explains why KEYS[2] is written. Source: WIRE 5.3, 12.4.
local lock, owner, count, lease = KEYS[1], ARGV[1], ARGV[2], tonumber(ARGV[3])
local mode, held = unpack(redis.call('hmget', KEYS[1], 'mode', owner))
local is_held, is_last = mode == 'write' and held, count == '0'
local is_alone = is_held and is_last and redis.call('hlen', KEYS[1]) == 2
local ttl = not is_alone and redis.call('pttl', KEYS[1])
if not is_held and not (is_last and ttl == -2) then
    return {owner, -1, ttl}
end
if is_held and not is_alone then
    local longest, left = is_last and 0 or lease, 500
    local base = lock:find('{', 1, true) and lock or '{' .. lock .. '}'
    local scan = redis.call('hscan', KEYS[1], '0', 'count', '300')
    local fields, is_unseen = scan[2], scan[1] ~= '0'
    local reads = is_unseen
    for i = 1, #fields, 2 do
        local keys = base .. ':' .. fields[i] .. ':rwlock_timeout'
        local holds = tonumber(fields[i + 1])
        if fields[i] ~= owner and holds then
            reads, is_unseen = true, is_unseen or holds > left
            for before = 0, math.min(holds, left) - 1 do
                KEYS[2] = keys .. string.format(':%.0f', holds - before)
                local ms = redis.call('pttl', KEYS[2])
                longest, left = math.max(longest, ms == -2 and ttl or ms), left - 1
            end
        end
    end
    longest = is_unseen and math.max(longest, ttl) or longest
    is_alone = is_last and not reads
    if not is_alone then
        if is_last then
            redis.call('hset', KEYS[1], 'mode', 'read')
        else
            redis.call('hset', KEYS[1], owner, count)
        end
        local set = longest > 0 and redis.pcall('pexpire', KEYS[1], longest) or 1
        if type(set) ~= 'table' and is_last then
            set = redis.pcall('hdel', KEYS[1], owner)
        end
        if type(set) == 'table' then -- an error: it is as it was
            redis.pcall('hset', KEYS[1], 'mode', 'write', owner, held)
            if ttl > 0 then
                redis.pcall('pexpire', KEYS[1], ttl)
            end
            return set
        end
        if not is_last then
            return {owner, tonumber(count)}
        end
    end
end
if is_alone then
    redis.call('del', KEYS[1])
end
local heard, note
if ARGV[4] == 'SPUBLISH' then
    heard = redis.pcall('spublish', ARGV[5], '1')
else
    heard = redis.pcall('publish', ARGV[5], '1')
end
if heard ~= 0 or ARGV[6] then
    --+ tell
    heard, note = tell(4, ARGV[5], '1', true, heard)
end
if is_held then
    return {owner, 0, heard, note}
end
return {owner, -1, ttl}
