-- Numbers a grant: a part of the acquire scripts. It does nothing without the key of a token
-- counter.
-- Takes   counter (nil: none), retention in ms ('0': the counter has no TTL), count (to
--         reach), is_free
-- Leaves  token: of a first acquire (to reach: 1), otherwise nil
-- The acquire of a free lock takes the next token. A repeated acquire returns the same token,
-- because no other owner takes one while the owner holds the lock. The counter is a key of the
-- script, so the reply is TRYAGAIN while the slot moves, and no second counter begins on the
-- other node. It is raised first: if it cannot be raised, or another program has set it below
-- 0, the reply is an error and nothing was acquired.
-- A counter with a TTL does not begin at 1, but at the server's clock in us. No lock is granted
-- once in each us, so that number is greater than every earlier token.
-- Source: WIRE 10.2; the retention is our own.
local token
if counter and count == '1' then
    if is_free and retention ~= '0' and redis.call('exists', KEYS[#KEYS]) == 0 then
        local now = redis.call('time')
        redis.call('set', KEYS[#KEYS], now[1] .. string.format('%06d', now[2]))
    end
    local text = not is_free and redis.call('getrange', KEYS[#KEYS], '0', '191')
    token = is_free and redis.call('incr', KEYS[#KEYS]) or
        text ~= '' and text:sub(1, 191) or nil
    if is_free and token < 1 then
        redis.pcall('decr', KEYS[#KEYS])
        return redis.error_reply('ERR the counter ' .. counter .. ' is below 0: tokens of '
            .. 'holdfast and Redisson begin at 1')
    end
    if is_free and token >= 2 ^ 53 then
        token = redis.call('getrange', KEYS[#KEYS], '0', '31'):sub(1, 191) -- Lua's numbers end there
    end
    if is_free and retention ~= '0' then
        redis.call('pexpire', KEYS[#KEYS], retention)
    end
end
