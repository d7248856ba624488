-- Takes a permit until its lease ends, or gives the owner's one a new lease.
-- KEYS  semaphore, its permits that are out
-- ARGV  owner, 1, lease in ms
-- Reply {owner, 1}          held
--       {owner, -1, ms}     none is available, and none lapses before so many ms are
--                           over; -1: none is out
-- May be sent any number of times. An error means that nothing was acquired.
-- Lapsed permits are made available, no more of them than are needed, and at most 1000
-- at a time.
-- Source: WIRE 16.
local semaphore, out, owner = KEYS[1], KEYS[2], ARGV[1]
local time = redis.call('time')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local id = redis.sha1hex(owner):sub(1, 32):gsub('%x%x', function(byte)
    return string.char(tonumber(byte, 16))
end)
local held = redis.call('zscore', out, id)
if not held then
    local available = redis.call('get', semaphore)
    available = available and (tonumber(available) or redis.call('decrby', semaphore, 0))
    if available and available < 1 then
        local lapsed = redis.call('zrangebyscore', out, 0, string.format('%.0f', now),
            'limit', 0, math.min(1 - available, 1000))
        if #lapsed > 0 then
            available = redis.call('incrby', semaphore, #lapsed)
            local gone = redis.pcall('zrem', out, unpack(lapsed))
            if type(gone) == 'table' then -- an error: they are out still
                redis.pcall('decrby', semaphore, #lapsed)
                return gone
            end
        end
    end
    if not available or available < 1 then
        local first = redis.call('zrange', out, 0, 0, 'withscores')[2]
        return {owner, -1, first and math.max(tonumber(first) - now, 0) or -1}
    end
    redis.call('decrby', semaphore, 1)
end
local added = redis.pcall('zadd', out, string.format('%.0f', now + ARGV[3]), id)
if type(added) == 'table' then
    if not held then
        redis.pcall('incrby', semaphore, 1)
    end
    return added
end
local ttl = redis.call('pttl', semaphore)
if ttl > 0 then
    redis.call('pexpire', out, ttl)
end
return {owner, 1}
