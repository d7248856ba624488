-- Sends the message that wakes waiters: a part of the scripts that free a lock.
-- Leaves  tell(at, channel, message, is_lock, first): returns how many clients received it,
--         and, if it could not be sent, the reason (at most 191 bytes). `first`: the reply
--         to the first command, if the script has sent it. A script calls tell only if
--         that is not 0, or if there is a second command: without waiters it sends one
--         PUBLISH.
-- ARGV[at] is PUBLISH or SPUBLISH; ARGV[at + 2], if it exists, the other of them. A client
-- that listens on both is counted once. If a lock has more than 16 listeners, a second message
-- has a number: 16 more than the clients that have registered, because they wait; if there are
-- none, the number of listeners (channel.h, TURN-2, TURN-3). Redisson ignores numbers other than
-- 0 and 1.
-- The script has done its work before: a refused message (ACL) is not an error. Source: WIRE 5.2, 5.3.
local function publish(verb, channel, message)
    if verb == 'SPUBLISH' then
        return redis.pcall('spublish', channel, message)
    end
    return redis.pcall('publish', channel, message)
end
local function crowd(verb, channel, clients)
    local registered = publish(verb, channel .. ':waiters', '0')
    return registered ~= 0 and type(registered) == 'number' and registered + 16 or clients
end
local function tell(at, channel, message, is_lock, first)
    local heard, note = 0, nil
    for i = at, #ARGV, 2 do
        local clients = i == at and first or publish(ARGV[i], channel, message)
        if type(clients) == 'table' then
            note = clients.err:sub(1, 191)
        else
            heard = math.max(heard, clients)
            if is_lock and i == at and clients > 16 then
                publish(ARGV[i], channel, crowd(ARGV[i], channel, clients))
            end
        end
    end
    return heard, note
end
