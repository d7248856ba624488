-- Acquires a read hold, or sets the owner's count of read holds to that of the client.
-- KEYS  lock, prefix of the owner's hold keys: {lock}:owner:rwlock_timeout
-- ARGV  owner, hold count to reach, lease in ms, field of the owner's write hold
-- Reply {owner, hold count}                         held
--       {owner, -1, TTL in ms, field, its value, mode or '', length of the field, of
--        the value}             not held; this field prevents it (TTL -1: none); '': the
--                               lock does not exist (TTL -2). Texts are cut to 191 bytes; the
--                               lengths are the true ones
-- A first acquire (to reach: 1) takes a free lock, joins other readers, and is possible beside
-- the owner's own write hold; a re-entry needs the owner's field: if that exists, no other
-- owner has written meanwhile. May be sent any number of times. An error means that nothing
-- was acquired: a lock whose TTL cannot be set is released.
-- The TTL of the lock is never shortened, because others may rely on it.
-- The prefix is not the name of a key. It is declared so that the reply is TRYAGAIN while the
-- slot moves: a script that sees half of the hold keys would take live readers for dead
-- ones.
-- Before a hold key is used, its name is written into KEYS, in all scripts of read-write
-- locks: proxies that check the text of scripts refuse a key which is not KEYS[...]. Servers
-- that refuse keys which were not declared (Dragonfly) receive the names of the hold keys as
-- further keys: declare.h.
-- Source: WIRE 12.1.
local owner, count, lease = ARGV[1], ARGV[2], ARGV[3]
local mode, held, writes = unpack(redis.call('hmget', KEYS[1], 'mode', owner, ARGV[4]))
local ttl = redis.call('pttl', KEYS[1])
local is_first = count == '1' and not held
if held and mode or is_first and (ttl == -2 or mode == 'read' or mode and writes) then
    KEYS[2] = KEYS[2] .. ':' .. count
    redis.call('hset', KEYS[1], 'mode', mode or 'read', owner, count)
    local set = redis.pcall('set', KEYS[2], '1', 'px', lease)
    if not set.err then
        set = ttl >= tonumber(lease) and 1 or redis.pcall('pexpire', KEYS[1], lease)
    end
    if set == 1 then
        return {owner, tonumber(count)}
    end
    if held then
        redis.pcall('hset', KEYS[1], owner, held)
    else
        redis.pcall('hdel', KEYS[1], owner, mode and owner or 'mode')
    end
    if held ~= count then
        redis.pcall('del', KEYS[2])
    end
    return set
end
local fields, at = redis.call('hscan', KEYS[1], '0', 'count', '3')[2], nil
for i = 1, #fields, 2 do
    if fields[i] ~= 'mode' and (not at or fields[i]:find(':write$')) then
        at = i
    end
end
local field, value = at and fields[at] or '', at and fields[at + 1] or ''
mode = mode or ''
return {owner, -1, ttl, field:sub(1, 191), value:sub(1, 191), mode:sub(1, 191), #field,
        #value}
