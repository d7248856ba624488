-- Raises the counter of a lock's fencing tokens to the token of a quorum, of which
-- this lock is a member. Never lowers it.
-- KEYS  lock, perhaps others, and the counter of its tokens
-- ARGV  owner, token, 0
-- Reply {owner, token}           the counter is the token or more
--       {owner, -1, TTL in ms}   this owner does not hold the lock: nothing was done
-- The owner's hold orders this before the grant of the next owner on this server. May
-- be sent any number of times. Compared as text: a token may be greater than Lua's
-- numbers are exact. A counter that may end keeps its TTL. Source: our own.
local counter, owner, token = KEYS[#KEYS], ARGV[1], ARGV[2]
local held = redis.pcall('hexists', KEYS[1], owner)
if held ~= 1 and (held == 0 or redis.call('getrange', KEYS[1], 0, #owner) ~= owner) then
    return {owner, -1, redis.call('pttl', KEYS[1])}
end
local now = redis.call('getrange', KEYS[#KEYS], 0, 31)
now = now == '' and '0' or now
if not now:find('^%d+$') then
    return redis.error_reply('ERR the counter of the tokens is not a number')
end
if #now < #token or #now == #token and now < token then
    redis.call('set', KEYS[#KEYS], token, 'keepttl')
end
return {owner, ARGV[2]}
