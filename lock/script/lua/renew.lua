-- Renews many holds, or only looks at them.
-- KEYS  locks
-- ARGV  lease in ms (0: changes nothing), then the owner of each lock
-- Reply {owner of the first, then for each: 1 renewed, 0 no such lock,
--        -1 another holds it}; with lease 0 its TTL instead of 1 (2^53 - 1: none)
-- The TTL becomes the lease; but a writer that reads, too (`mode` and two fields), may
-- have a longer lease for that, and its TTL is not made shorter.
-- A key of another type counts as held by another and spoils nothing else. Any
-- other refusal (NOPERM) says nothing of the lock: the error is the reply.
-- Each key is read after the last write to it: a write ends the server's tracking of the
-- key, and a read begins it (TRACKING-1).
-- Source: WIRE 6, 12.
local reply, lease = {ARGV[2]}, tonumber(ARGV[1])
for i = 1, #KEYS do
    local held = redis.pcall('hexists', KEYS[i], ARGV[i + 1])
    if held == 1 and lease == 0 then
        local ttl = redis.call('pttl', KEYS[i])
        reply[i + 1] = ttl < 0 and 2 ^ 53 - 1 or math.max(ttl, 1)
    elseif held == 1 then
        if redis.call('hlen', KEYS[i]) < 3 or redis.call('pttl', KEYS[i]) < lease then
            redis.call('pexpire', KEYS[i], lease)
        end
        reply[i + 1] = redis.call('hexists', KEYS[i], ARGV[i + 1])
    elseif held ~= 0 and not held.err:find('WRONGTYPE', 1, true) then
        return held
    else
        reply[i + 1] = -redis.call('exists', KEYS[i])
    end
end
return reply
