-- Lists the read holds of a lock, so that the client can declare their keys: declare.h.
-- KEYS  lock
-- ARGV  owner, whether other owners are also listed: 1 or 0
-- Reply {owner[, field, first hold, last hold]...}; fields are cut to 191 bytes
-- Lists at most the last 800 holds of the owner, and at most 500 holds of all other owners
-- together, in the order in which the scripts that need them read the fields. It reads at most
-- 4 pages of fields, and no further page after 300 fields.
local owner = ARGV[1]
local reply, left = {owner}, 500
local function list(field, holds, most)
    reply[#reply + 1] = field:sub(1, 191)
    reply[#reply + 1] = math.max(holds - most, 0) + 1
    reply[#reply + 1] = tonumber(holds)
end
local held = redis.call('hget', KEYS[1], owner)
held = held and tonumber(held)
if held and held >= 1 then
    list(owner, held, 800)
end
local cursor, seen, pages = '0', 0, ARGV[2] == '1' and 0 or 4
while pages < 4 and seen < 600 do
    local scan = redis.call('hscan', KEYS[1], cursor, 'count', '300')
    for i = 1, #scan[2], 2 do
        local field, holds = scan[2][i], tonumber(scan[2][i + 1])
        if field ~= owner and holds and holds >= 1 and left > 0 then
            list(field, holds, left)
            left = left - holds
        end
    end
    cursor, seen = scan[1], seen + #scan[2]
    pages = cursor == '0' and 4 or pages + 1
end
return reply
