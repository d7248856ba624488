-- Takes the lock, or sets the owner's hold count to what the client counted; and
-- numbers each grant.
-- KEYS  lock, counter of its fencing tokens
-- ARGV  owner, hold count to reach, lease in ms
-- Reply {owner, hold count[, token]}              held; the token if that is 1
--       {owner, -1, TTL in ms, field, its value}  not: this is what keeps it
-- As acquire.lua, but that a first acquire (to reach: 1) of a free lock takes the
-- next token. Asked again it answers the same one, for while the owner holds the
-- lock nobody else takes one. The counter is a key, so while a slot is on the move
-- the answer is TRYAGAIN, and no second counter begins in the other node. It is
-- raised first: one that cannot be is an error, and nothing was acquired.
-- Source: WIRE 10.2.
local lock, owner, count, lease = KEYS[1], ARGV[1], ARGV[2], ARGV[3]
local is_free = count == '1' and redis.call('exists', lock) == 0
if is_free or redis.call('hexists', lock, owner) == 1 then
    local token = count == '1' and
        redis.call(is_free and 'incr' or 'get', KEYS[2]) or nil
    if token and is_free and token >= 2 ^ 53 then
        token = redis.call('get', KEYS[2]) -- Lua's numbers end there
    end
    redis.call('hset', lock, owner, count)
    local set = redis.pcall('pexpire', lock, lease)
    if set == 1 then
        return {owner, tonumber(count), token}
    end
    if is_free then
        redis.pcall('del', lock)
    end
    return set
end
local fields = redis.call('hscan', lock, 0, 'count', 2)[2]
local i = fields[1] == 'mode' and fields[3] and 3 or 1
return {owner, -1, redis.call('pttl', lock), fields[i] or '', fields[i + 1] or '0'}
