-- Takes a permit for the duration of a lease, or renews the lease of the owner's permit.
-- KEYS  semaphore, its permits in use
-- ARGV  owner, 1, lease in ms
-- Reply {owner, 1}          held
--       {owner, -1, ms}     none is available, and none expires within this time; -1: none
--                           is in use
-- May be sent any number of times. An error means that nothing was acquired; expired permits
-- may have been made available.
-- Expired permits are made available, only as many as are needed, and at most 1000 at a
-- time.
-- Source: WIRE 16.
local semaphore, out, owner = KEYS[1], KEYS[2], ARGV[1]
local time = redis.call('time')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
--+ permit_id
local text = redis.call('getrange', KEYS[1], '0', '31')
--+ short_number
local available, wrong = number, nil
if not number then
    --+ number
    available, wrong = number_of(semaphore, -2 ^ 53, text)
end
local held = redis.call('zscore', KEYS[2], id)
if wrong then
    return wrong
end
if not held then
    if available and available < 1 then
        local lapsed = redis.call('zrangebyscore', KEYS[2], 0, string.format('%.0f', now),
            'limit', 0, math.min(1 - available, 1000))
        if #lapsed > 0 then
            available = redis.call('incrby', KEYS[1], #lapsed)
            local gone = redis.pcall('zrem', KEYS[2], unpack(lapsed))
            if type(gone) == 'table' then -- an error: they are out still
                redis.pcall('decrby', KEYS[1], #lapsed)
                return gone
            end
        end
    end
    if not available or available < 1 then
        local first = redis.call('zrange', KEYS[2], '0', '0', 'withscores')[2]
        return {owner, -1, first and
            math.min(math.max(tonumber(first) - now, 0), 2 ^ 53) or -1}
    end
    redis.call('decrby', KEYS[1], '1')
end
local added = redis.pcall('zadd', KEYS[2], string.format('%.0f', now + ARGV[3]), id)
local ttl = redis.pcall('pttl', KEYS[1])
if type(added) ~= 'table' then
    added = ttl
    if type(ttl) ~= 'table' and ttl > 0 then
        added = redis.pcall('pexpire', KEYS[2], ttl)
    end
end
if type(added) == 'table' then -- an error: it is taken back
    if held then
        redis.pcall('zadd', KEYS[2], held, id)
    else
        redis.pcall('zrem', KEYS[2], id)
        redis.pcall('incrby', KEYS[1], 1)
    end
    return added
end
return {owner, 1}
