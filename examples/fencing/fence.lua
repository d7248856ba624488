-- Writes a value to Redis, unless somebody with a greater fencing token has done
-- so before. docs/fencing.md
-- KEYS  the greatest token seen, what is written (in a cluster: in one slot)
-- ARGV  fencing token, value
-- Reply 1: written; 0: refused
-- Tokens are compared as text: Lua's numbers are exact up to 2^53 only.
local function is_greater(a, b)
    return #a > #b or #a == #b and a > b
end
local function is_token(s)
    return s:find('^[1-9]%d*$') and not is_greater(s, '9223372036854775807')
end
local token, seen = ARGV[1], redis.call('get', KEYS[1]) or '1'
if not (is_token(token) and is_token(seen)) then
    return redis.error_reply('ERR not a fencing token')
end
if is_greater(seen, token) then
    return 0
end
redis.call('set', KEYS[1], token)
redis.call('set', KEYS[2], ARGV[2])
return 1
