-- Sends the message that wakes waiters: a part of the scripts that free something.
-- Leaves  tell(at, channel, message, is_lock, first): how many clients heard it, and, if it
--         could not be sent, why (191 bytes at most). `first`: the reply to the first
--         command, if the script has sent it. A script calls tell only if that is not 0, or
--         if there is a second command: without waiters it sends one PUBLISH.
-- ARGV[at] is PUBLISH or SPUBLISH; ARGV[at + 2], if it is there, the other of them. A
-- listener in both ways is counted once. More than 16 listeners for a lock are told how
-- many they are (channel.h, TURN-2): Redisson ignores numbers other than 0 and 1.
-- What the script is for was done before: a message that is refused (ACL) does not
-- make an error of it. Source: WIRE 5.2, 5.3.
local function publish(verb, channel, message)
    if verb == 'SPUBLISH' then
        return redis.pcall('spublish', channel, message)
    end
    return redis.pcall('publish', channel, message)
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
                publish(ARGV[i], channel, clients)
            end
        end
    end
    return heard, note
end
