-- Releases the owner's permit and wakes waiters.
-- KEYS  semaphore, its permits in use
-- ARGV  owner, 0, lease in ms, PUBLISH or SPUBLISH, channel [, the other of them]
-- Reply {owner, 0, listeners[, why the message was not sent]} released
--       {owner, -1, -2} it has expired, and was made available
-- May be sent any number of times. The message is the number of available permits.
-- permit_extend.lua explains the ZREM of a member that does not exist.
-- Source: WIRE 5.2, 16.
local semaphore, owner = KEYS[1], ARGV[1]
--+ permit_id
if not redis.call('zscore', KEYS[2], id) then
    return {owner, -1, -2}
end
local text = redis.call('getrange', KEYS[1], '0', '31')
--+ short_number
if not number then
    --+ number
    local available, wrong = number_of(semaphore, -2 ^ 53, text)
    if wrong or available == 2 ^ 53 then
        return wrong or refusal(semaphore)
    end
end
redis.call('zrem', KEYS[2], '')
local total = redis.call('incrby', KEYS[1], '1')
local gone = redis.pcall('zrem', KEYS[2], id)
if gone ~= 1 then
    redis.pcall('decrby', KEYS[1], 1)
    return gone
end
local heard, note = 0, nil
if total > 0 then
    if ARGV[4] == 'SPUBLISH' then
        heard = redis.pcall('spublish', ARGV[5], total)
    else
        heard = redis.pcall('publish', ARGV[5], total)
    end
    if heard ~= 0 or ARGV[6] then
        --+ tell
        heard, note = tell(4, ARGV[5], total, false, heard)
    end
end
return {owner, 0, heard, note}
