-- Renews many permits, or only looks at them.
-- KEYS  for each: the permits of its semaphore that are out
-- ARGV  lease in ms (0: changes nothing), then the owner of each
-- Reply {owner of the first, then for each: 1 renewed, 0 it is out no more}; with
--       lease 0 the permit's TTL instead of 1
-- One that has lapsed, and that nobody has made available yet, is still its owner's.
-- A key of another type counts as gone and spoils nothing else. Any other refusal
-- (NOPERM) says nothing of the permit: the error is the reply. Why a member is deleted
-- that is not there: permit_extend.lua.
-- Source: WIRE 16.
local time = redis.call('time')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local reply, ends = {ARGV[2]}, string.format('%.0f', now + ARGV[1])
for i = 1, #KEYS do
    local owner = ARGV[i + 1]
    --+ permit_id
    local held = redis.pcall('zscore', KEYS[i], id)
    if type(held) == 'string' and ARGV[1] == '0' then
        reply[i + 1] = math.min(math.max(held - now, 1), 2 ^ 53 - 1)
    elseif type(held) == 'string' then
        redis.call('zrem', KEYS[i], '')
        redis.call('zadd', KEYS[i], ends, id)
        reply[i + 1] = 1
    elseif held and not held.err:find('WRONGTYPE', 1, true) then
        return held
    else
        reply[i + 1] = 0
    end
end
return reply
