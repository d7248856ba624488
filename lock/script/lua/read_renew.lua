-- Renews many read holds, or only looks at them. (A write hold is renewed as a plain
-- one: renew.lua.)
-- KEYS  for each: lock, prefix of the owner's hold keys: {lock}:owner:rwlock_timeout
-- ARGV  lease in ms (0: changes nothing), then the owner of each
-- Reply {owner of the first, then for each: 1 renewed, 0 no such lock,
--        -1 others hold it}; with lease 0 the TTL of the owner's last hold key, or
--        of the lock, if that is shorter, instead of 1 (2^53 - 1: none)
-- The owner's holds get the lease, and so does the lock, unless it has more: other
-- readers may have longer leases. The last hold key is made again if it is gone:
-- where the owner's field is, no writer has been. One call renews 500 hold keys at most
-- beside the last of each owner, from the last on: the server must not be kept busy by
-- counts that others wrote, and a hold that has its last key is alive.
-- A key of another type, or a count that is no number, counts as held by others and
-- spoils nothing else. The lock's TTL is written first: that needs no memory, and then
-- a full server lets the others pass. Any other refusal (NOPERM) says nothing of the lock: the error is the reply.
-- Why a prefix stands among the keys: read_acquire.lua. Source: WIRE 12.6.
local reply, lease, left = {ARGV[2]}, tonumber(ARGV[1]), 500
for i = 2, #ARGV do
    local at = 2 * i - 3
    local prefix = KEYS[at + 1]
    local field = redis.pcall('hget', KEYS[at], ARGV[i])
    local held = type(field) == 'string' and tonumber(field)
    if held and lease == 0 then
        local ttl = redis.call('pttl', KEYS[at])
        local own = redis.call('pttl', prefix .. string.format(':%.0f', held))
        ttl = ttl < 0 and 2 ^ 53 - 1 or ttl
        reply[i] = math.max(own == -1 and ttl or math.min(own, ttl), 1)
    elseif held then
        redis.call('pexpire', KEYS[at], math.max(redis.call('pttl', KEYS[at]), lease))
        for before = 1, math.min(held - 1, left) do
            redis.call('pexpire', prefix .. string.format(':%.0f', held - before), lease)
            left = left - 1
        end
        redis.call('set', prefix .. string.format(':%.0f', held), '1', 'px', lease)
        reply[i] = 1
    elseif type(field) == 'table' and not field.err:find('WRONGTYPE', 1, true) then
        return field
    else
        reply[i] = -redis.call('exists', KEYS[at])
    end
end
return reply
