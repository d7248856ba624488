-- Renews many holds.
-- KEYS  locks
-- ARGV  lease in ms, then the owner of each lock
-- Reply {owner of the first, then for each: 1 renewed, 0 no such lock,
--        -1 another holds it}
-- A key of another type counts as held by another and spoils nothing else. Any
-- other refusal (NOPERM) says nothing of the lock: the error is the reply.
-- Source: WIRE 6.
local reply = {ARGV[2]}
for i, lock in ipairs(KEYS) do
    local held = redis.pcall('hexists', lock, ARGV[i + 1])
    if held == 1 then
        redis.call('pexpire', lock, ARGV[1])
        reply[i + 1] = 1
    elseif held ~= 0 and not held.err:find('WRONGTYPE', 1, true) then
        return held
    else
        reply[i + 1] = -redis.call('exists', lock)
    end
end
return reply
