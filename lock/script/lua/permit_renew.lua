-- Renews many permits, or only reads them.
-- KEYS  for each: the permits of its semaphore that are in use
-- ARGV  lease in ms (0: changes nothing), then the owner of each
-- Reply {owner of the first, then for each: 1 renewed, 0 no longer in use}; with
--       lease 0 the TTL of the permit instead of 1
-- An expired permit that was not made available yet still belongs to its owner.
-- A key of another type counts as missing and affects nothing else. Any other refusal
-- (NOPERM) shows nothing about the permit: the error is the reply. permit_extend.lua
-- explains the ZREM of a member that does not exist.
-- Each key is read after the last write to it: a write ends the server's tracking of the
-- key, and a read begins it (TRACKING-1).
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
        redis.call('zscore', KEYS[i], id)
        reply[i + 1] = 1
    elseif held and not held.err:find('WRONGTYPE', 1, true) then
        return held
    else
        reply[i + 1] = 0
    end
end
return reply
