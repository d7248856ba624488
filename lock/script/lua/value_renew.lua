-- Renews many holds of value locks, or only looks at them.
-- KEYS  locks
-- ARGV  lease in ms (0: changes nothing), then the owner of each lock
-- Reply {owner of the first, then for each: 1 renewed, 0 no such lock,
--        -1 another holds it}; with lease 0 its TTL instead of 1 (2^53 - 1: none)
-- An owner has at most 191 bytes, so the first 192 bytes show whether the value is the
-- owner's.
-- A key of another type counts as held by another and spoils nothing else. Any
-- other refusal (NOPERM) says nothing of the lock: the error is the reply.
-- Each key is read after the last write to it: a write ends the server's tracking of the
-- key, and a read begins it (TRACKING-1).
local reply, lease = {ARGV[2]}, ARGV[1]
for i = 1, #KEYS do
    local owner = ARGV[i + 1]
    local holder = redis.pcall('getrange', KEYS[i], '0', '191')
    if holder == owner and lease == '0' then
        local ttl = redis.call('pttl', KEYS[i])
        reply[i + 1] = ttl < 0 and 2 ^ 53 - 1 or math.max(ttl, 1)
    elseif holder == owner then
        redis.call('pexpire', KEYS[i], lease)
        redis.call('getrange', KEYS[i], '0', '0')
        reply[i + 1] = 1
    elseif type(holder) == 'table' and not holder.err:find('WRONGTYPE', 1, true) then
        return holder
    else
        reply[i + 1] = -redis.call('exists', KEYS[i])
    end
end
return reply
