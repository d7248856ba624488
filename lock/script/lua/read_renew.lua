-- Renews many read holds, or only reads them. (renew.lua renews write holds.)
-- KEYS  for each: lock, prefix of the owner's hold keys: {lock}:owner:rwlock_timeout
-- ARGV  lease in ms (0: changes nothing), then the owner of each
-- Reply {owner of the first, then for each: 1 renewed, 0 no such lock,
--        -1 others hold it}; with lease 0 the TTL of the owner's last hold key, or
--        of the lock, if that is shorter, instead of 1 (2^53 - 1: none)
-- The TTL of the owner's holds becomes the lease, and so does that of the lock, unless it is
-- longer: other readers may have longer leases. If the last hold key is missing, it is created
-- again: while the owner's field exists, no writer has held the lock. One call renews at most
-- 500 hold keys besides the last of each owner, beginning with the last: counts that others
-- wrote must not keep the server busy, and a hold with its last key is live.
-- A key of another type, or a count that is not a number, counts as held by others and affects
-- nothing else. The TTL of the lock is written first, because that needs no memory, and after
-- that a server without memory accepts the other writes. Any other refusal (NOPERM) shows
-- nothing about the lock: the error is the reply.
-- Each lock is read after the last write to it: a write ends the server's tracking of the
-- key, and a read begins it (TRACKING-1).
-- read_acquire.lua explains the prefix among the keys. Source: WIRE 12.6.
local reply, lease, left = {ARGV[2]}, tonumber(ARGV[1]), 500
for i = 2, #ARGV do
    local at = 2 * i - 3
    local key = at + 1
    local prefix = KEYS[key]
    local field = redis.pcall('hget', KEYS[at], ARGV[i])
    local held = type(field) == 'string' and tonumber(field)
    if held and lease == 0 then
        local ttl = redis.call('pttl', KEYS[at])
        KEYS[key] = prefix .. string.format(':%.0f', held)
        local own = redis.call('pttl', KEYS[key])
        ttl = ttl < 0 and 2 ^ 53 - 1 or ttl
        reply[i] = math.max(own == -1 and ttl or math.min(own, ttl), 1)
    elseif held then
        redis.call('pexpire', KEYS[at], math.max(redis.call('pttl', KEYS[at]), lease))
        for before = 1, math.min(held - 1, left) do
            KEYS[key] = prefix .. string.format(':%.0f', held - before)
            redis.call('pexpire', KEYS[key], lease)
            left = left - 1
        end
        KEYS[key] = prefix .. string.format(':%.0f', held)
        redis.call('set', KEYS[key], '1', 'px', lease)
        redis.call('hget', KEYS[at], ARGV[i])
        reply[i] = 1
    elseif type(field) == 'table' and not field.err:find('WRONGTYPE', 1, true) then
        return field
    else
        reply[i] = -redis.call('exists', KEYS[at])
    end
end
return reply
