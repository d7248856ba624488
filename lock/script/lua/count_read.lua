-- Returns the number of available permits, the count of a latch, or the latest token.
-- KEYS  semaphore or latch; or a lock, perhaps others, and the counter of its tokens
-- ARGV  request, ''[, '0': a latch, which cannot be below 0]
-- Reply {request, number[, 1 if there is one]}; a semaphore or latch that does not exist has 0;
--       a token has no third element
-- A token may be too large for Lua's numbers to be exact. Redisson's addPermits may make
-- the number of permits negative. Source: WIRE 10, 15, 17.
--+ number
if #KEYS == 1 then
    local number, wrong = number_of(KEYS[1], ARGV[3] and 0 or -2 ^ 53)
    return wrong or {ARGV[1], number or 0, number and 1 or 0}
end
local token = redis.call('getrange', KEYS[#KEYS], 0, 191)
if token == '' and redis.call('exists', KEYS[#KEYS]) == 0 then
    token = '0'
end
if token == '0' or token:find('^[1-9]%d*$') and (#token < 19 or
        #token == 19 and token <= '9223372036854775807') then
    return {ARGV[1], token:sub(1, 191)}
end
return refusal(KEYS[#KEYS])
