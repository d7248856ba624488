-- Returns the state of the lock.
-- KEYS  lock [, its queue, until when each place in the queue is valid: declare.h]
-- ARGV  request, owner to look for ('' for none)
-- Reply {request, -1, TTL in ms (-1 none, -2 not locked), a field of the hash, its
--        value, the field `mode` or '', length of the field, of the value, the owner's
--        count, the number of fields, the number of waiters in a fair lock's queue (-1:
--        it exists, and cannot be read; -2: it is unknown whether it exists)[, the first
--        waiter, its length, for how many ms its place is valid (-1: unknown)]}
-- Texts are cut to 191 bytes; the lengths are the true ones. If the server refuses the
-- queue because it is not declared, that error is the reply. Derived names are written into
-- KEYS: read_acquire.lua.
-- Source: WIRE 2.2, 8.4.
local lock = KEYS[1]
local fields = redis.call('hscan', KEYS[1], '0', 'count', '100')[2]
local i = fields[1] == 'mode' and fields[3] and 3 or 1
local base = lock:find('{', 1, true) and lock or '{' .. lock .. '}'
KEYS[2], KEYS[3] = 'redisson_lock_queue:' .. base, 'redisson_lock_timeout:' .. base
local waiters = redis.pcall('llen', KEYS[2])
if type(waiters) == 'table' and waiters.err:find('undeclared key', 1, true) then
    return waiters
elseif type(waiters) ~= 'number' then
    local there = redis.pcall('exists', KEYS[2])
    local is_unseen = type(there) ~= 'number'
        and not there.err:find('non local key', 1, true)
    waiters = is_unseen and -2 or there == 1 and -1 or 0
end
local field, value = fields[i] or '', fields[i + 1] or '0'
local mode = redis.call('hget', KEYS[1], 'mode') or ''
local count = redis.call('hget', KEYS[1], ARGV[2]) or '0'
local reply = {ARGV[1], -1, redis.call('pttl', KEYS[1]), field:sub(1, 191), value:sub(1, 191),
        mode:sub(1, 191), #field, #value, count:sub(1, 191), redis.call('hlen', KEYS[1]),
        waiters}
local head = waiters > 0 and redis.pcall('lindex', KEYS[2], 0)
if type(head) == 'string' then
    local ends = redis.pcall('zscore', KEYS[3], head)
    local time, left = redis.pcall('time'), -1
    ends = type(ends) == 'string' and tonumber(ends)
    if ends and ends < 1e15 and time[1] then
        left = ends - time[1] * 1000 - math.floor(time[2] / 1000)
        left = math.max(math.floor(left), 0)
    end
    reply[12], reply[13], reply[14] = head:sub(1, 191), #head, left
end
return reply
