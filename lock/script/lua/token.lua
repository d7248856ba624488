-- Numbers a grant: a part of the acquires that are given the counter of the lock's
-- fencing tokens; others number nothing.
-- Takes   counter (nil: none), retention in ms ('0': the counter stays for ever),
--         count (to reach), is_free
-- Leaves  token: of a first acquire (to reach: 1), else nil
-- The acquire of a free lock takes the next token. Asked again it answers the same
-- one, for while the owner holds the lock nobody else takes one. The counter is a
-- key, so while a slot is on the move the answer is TRYAGAIN, and no second counter
-- begins in the other node. It is raised first: one that cannot be, or that somebody has
-- set below 0, is an error, and nothing was acquired.
-- A counter that may end does not begin at 1, but at the server's clock in us. No
-- lock is granted once in each us, so that is beyond every token before.
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
