-- Sets the owner's count of read holds to that of the client. If no live hold remains, frees
-- the lock and wakes waiters.
-- KEYS  lock, prefix of the owner's hold keys: {lock}:owner:rwlock_timeout
-- ARGV  owner, hold count to reach, lease in ms, PUBLISH or SPUBLISH, channel
--       [, the other of them]
-- Reply {owner, hold count}       done; the lock is still held, by any owner
--       {owner, 0, listeners[, why the message was not sent]}  done, and it is free
--       {owner, -1, TTL in ms}    this owner does not hold it; TTL -2: it is free
-- May be sent any number of times. If the lock is free, waiters are woken nevertheless: they
-- may sleep until a TTL that has ended early.
-- A hold is live as long as its hold key exists. A holder that died leaves its field; the last
-- live holder deletes it with the lock.
-- One call reads at most 300 fields and 500 hold keys, whatever others wrote. Fields that it
-- does not read count as live until the TTL of the lock ends. If a lock has more fields, the
-- call deletes the dead ones among those that it read, so that the next call reads others; the
-- TTL is kept. It deletes at most 300 hold keys; the rest expire.
-- The TTL of the lock becomes that of the hold that lasts longest; but it is not shortened
-- while there is a writer, which has its own lease. The remaining holds of the owner last for
-- `lease` or longer, as for a plain lock, also if a late acquire has set the count to less
-- than what must remain.
-- A partial release begins with a delete of a field that does not exist, which needs no
-- memory: after that, a server without memory accepts the other writes. An error means that
-- nothing was changed.
-- read_acquire.lua explains the prefix among the keys. Source: WIRE 5.3, 12.3.
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
        KEYS[2] = prefix .. ':' .. i
        local gone = redis.pcall('del', KEYS[2])
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
            KEYS[2] = keys .. string.format(':%.0f', holds - before)
            local ms = redis.call('pttl', KEYS[2])
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
        local set, left
        if count > 0 then
            redis.call('hdel', KEYS[1], '')
            redis.call('hset', KEYS[1], owner, count)
            KEYS[2] = prefix .. ':' .. count
            left = redis.call('pttl', KEYS[2])
            if left < lease then
                set = redis.pcall('set', KEYS[2], '1', 'px', lease)
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
            KEYS[2] = prefix .. ':' .. count
            if left == -2 then
                redis.pcall('del', KEYS[2])
            elseif left and left >= 0 and left < lease then
                redis.pcall('set', KEYS[2], '1', 'px', math.max(left, 1))
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
    local refused = drop_keys()
    if refused then
        return refused
    end
    redis.call('del', KEYS[1])
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
