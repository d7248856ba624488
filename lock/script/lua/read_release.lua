-- Sets the owner's count of read holds to what the client counted. If no hold that
-- is alive remains, frees the lock and wakes waiters.
-- KEYS  lock, prefix of the owner's hold keys: {lock}:owner:rwlock_timeout
-- ARGV  owner, hold count to reach, lease in ms, PUBLISH or SPUBLISH, channel
--       [, the other of them]
-- Reply {owner, hold count}       done; it is still held, by whomever
--       {owner, 0, listeners[, why the message was not sent]}  done, and it is free
--       {owner, -1, TTL in ms}    this owner does not hold it; TTL -2: nobody does
-- May be sent any number of times. On a lock that nobody holds, waiters are woken
-- all the same: they may be asleep on a TTL that has ended early.
-- A hold is alive as long as its hold key is there. A holder that died leaves its
-- field; the last living one deletes it with the lock.
-- One call looks at 300 fields and 500 hold keys at most, whatever others wrote. What
-- it does not look at counts as alive until the lock's TTL ends. Of a lock with more
-- fields, it deletes those of the dead among the ones that it saw, so that the next
-- call sees others; the TTL stays. It deletes 300 hold keys at most; the rest end with
-- their TTL.
-- The lock's TTL becomes that of the hold that lives longest; but it is not made
-- shorter under a writer, which has a lease of its own. What remains of the owner's
-- holds lives for `lease` or longer, as that of a plain lock does; also if an acquire
-- that came late has set the count to less than what is to remain.
-- A partial release begins with a write that changes nothing and needs no memory (there
-- is no such field): after that, a full server lets the others pass. An error means that
-- all is as before.
-- Why a prefix stands among the keys: read_acquire.lua. Source: WIRE 5.3, 12.3.
local prefix, owner = KEYS[2], ARGV[1]
local count, lease = tonumber(ARGV[2]), tonumber(ARGV[3])
local mode, held = unpack(redis.call('hmget', KEYS[1], 'mode', owner))
local is_held = mode and held
held = is_held and tonumber(held)
local is_alone = held and count == 0 and mode == 'read' and redis.call('hlen', KEYS[1]) == 2
local ttl = not is_alone and redis.call('pttl', KEYS[1])
if not is_held and not (count == 0 and ttl == -2) then
    return {owner, -1, ttl}
end
local function drop_keys()
    for i = count + 1, math.min(held, count + 300) do
        local gone = redis.pcall('del', prefix .. ':' .. i)
        if type(gone) == 'table' then
            return gone
        end
    end
end
if is_held and not is_alone then
    local scan = redis.call('hscan', KEYS[1], '0', 'count', '300')
    local fields, pages = scan[2], 1
    while scan[1] ~= '0' and #fields < 600 and pages < 4 do -- of a table that is emptier
        scan, pages = redis.call('hscan', KEYS[1], scan[1], 'count', '300'), pages + 1
        for i = 1, #scan[2] do
            fields[#fields + 1] = scan[2][i]
        end
    end
    local is_whole, budget = scan[1] == '0', 500
    local longest, is_unseen, dead = 0, not is_whole, {}
    -- From the last hold on, which every renewal writes; false: all are dead.
    local function look_at(keys, holds)
        local alive, seen = holds > budget, math.min(holds, budget)
        is_unseen, budget = is_unseen or alive, budget - seen
        for before = 0, seen - 1 do
            local ms = redis.call('pttl', keys .. string.format(':%.0f', holds - before))
            alive, longest = alive or ms > 0, math.max(longest, ms)
        end
        return alive
    end
    for i = 1, #fields, 2 do
        local field, holds = fields[i], tonumber(fields[i + 1])
        local keys = prefix:sub(1, -#owner - 16) .. field .. ':rwlock_timeout'
        if field == owner then
            look_at(prefix, math.min(held, count))
        elseif field:find(':write$') then
            dead[#dead + 1] = mode == 'read' and field or nil
        elseif field ~= 'mode' and not look_at(keys, holds or 0) then
            dead[#dead + 1] = field
        end
    end
    is_alone = count == 0 and longest <= 0 and not is_unseen and mode ~= 'write'
    if not is_alone then
        local key, set, left = prefix .. ':' .. count, nil, nil
        if count > 0 then
            redis.call('hdel', KEYS[1], '')
            redis.call('hset', KEYS[1], owner, count)
            left = redis.call('pttl', key)
            if left < lease then
                set = redis.pcall('set', key, '1', 'px', lease)
            end
            longest = math.max(longest, left, lease)
        else
            redis.call('hdel', KEYS[1], owner)
        end
        local least = (is_unseen or mode == 'write') and ttl or 0
        if not (set and set.err) and longest > least then
            set = redis.pcall('pexpire', KEYS[1], longest)
        end
        if type(set) ~= 'table' or not set.err then
            set = drop_keys() or {}
        end
        if set.err then -- it is as it was
            redis.pcall('hset', KEYS[1], owner, string.format('%.0f', held))
            if ttl > 0 then
                redis.pcall('pexpire', KEYS[1], ttl)
            end
            if left == -2 then
                redis.pcall('del', key)
            elseif left and left >= 0 and left < lease then
                redis.pcall('set', key, '1', 'px', math.max(left, 1))
            end
            return set
        end
        if not is_whole and #dead > 0 then
            redis.pcall('hdel', KEYS[1], unpack(dead))
        end
        return {owner, count}
    end
end
if is_alone then
    redis.call('del', KEYS[1])
    drop_keys()
end
local heard, note
if ARGV[4] == 'SPUBLISH' then
    heard = redis.pcall('spublish', ARGV[5], '0')
else
    heard = redis.pcall('publish', ARGV[5], '0')
end
if heard ~= 0 or ARGV[6] then
    --+ tell
    heard, note = tell(4, ARGV[5], '0', true, heard)
end
if is_held then
    return {owner, 0, heard, note}
end
return {owner, -1, ttl}
