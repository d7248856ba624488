-- Makes a permit last for a lease. Never makes it shorter: its owner may believe in
-- what it has.
-- KEYS  semaphore, its permits that are out
-- ARGV  owner, 0, lease in ms
-- Reply {owner, 1, ms until it ends}  done
--       {owner, -1, -2}               it is out no more
-- One that has lapsed, and that nobody has made available yet, is still its owner's.
-- Source: WIRE 16.
local out, owner, lease = KEYS[2], ARGV[1], tonumber(ARGV[3])
local id = redis.sha1hex(owner):sub(1, 32):gsub('%x%x', function(byte)
    return string.char(tonumber(byte, 16))
end)
local ends = redis.call('zscore', out, id)
if not ends then
    return {owner, -1, -2}
end
local time = redis.call('time')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
if tonumber(ends) < now + lease then
    ends = now + lease
    redis.call('zadd', out, string.format('%.0f', ends), id)
end
return {owner, 1, tonumber(ends) - now}
