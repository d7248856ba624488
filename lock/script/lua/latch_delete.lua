-- Deletes a latch, once for each request, however often that is sent, and notifies waiters.
-- KEYS  latch, the recorded reply to this request
-- ARGV  request, 1, how long that record is kept in ms, message, PUBLISH or SPUBLISH, channel
--       [, the other of them]
-- Reply {request, 1[, listeners[, why the message was not sent]]}  deleted
--       {request, -1, -1}                                          there is none
-- An error means that nothing was done. The first DEL is of a key that does not exist, and
-- needs no memory: after that, a server without memory accepts the other writes.
-- Source: WIRE 5.2, 17.
local key, answer = KEYS[1], KEYS[2]
--+ number
--+ tell
local number, wrong = number_of(answer, 0)
if number then
    redis.call('set', KEYS[2], '1', 'px', ARGV[3])
    return {ARGV[1], 1}
end
if not wrong then
    number, wrong = number_of(key, 0)
end
if not number then
    return wrong or {ARGV[1], -1, -1}
end
redis.call('del', KEYS[2])
redis.call('set', KEYS[2], '1', 'px', ARGV[3])
local gone = redis.pcall('del', KEYS[1])
if gone ~= 1 then
    redis.pcall('del', KEYS[2])
    return gone
end
return {ARGV[1], 1, tell(5, ARGV[6], ARGV[4])}
