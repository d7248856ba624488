-- Renews many holds of value locks.
-- KEYS  locks
-- ARGV  lease in ms, then the owner of each lock
-- Reply {owner of the first, then for each: 1 renewed, 0 no such lock,
--        -1 another holds it}
-- A key of another type counts as held by another and spoils nothing else. Any
-- other refusal (NOPERM) says nothing of the lock: the error is the reply.
local reply, lease = {ARGV[2]}, ARGV[1]
for i, lock in ipairs(KEYS) do
    local holder = redis.pcall('get', lock)
    if type(holder) == 'table' and not holder.err:find('WRONGTYPE', 1, true) then
        return holder
    end
    reply[i + 1] = holder and -1 or 0
    if holder == ARGV[i + 1] then
        redis.call('pexpire', lock, lease)
        reply[i + 1] = 1
    end
end
return reply
