-- Reads a counter: a part of the scripts that count.
-- Leaves  refusal(key): the error of a key that holds something else than a counter may;
--         also of a sum that would pass 2^53
--         number_of(key, least, text): the number that the key holds; nil: there is no
--         key; nil and an error to reply with: the key holds something else than a whole
--         number from `least` to 2^53, written as INCR writes it. `text`: the first 32
--         bytes of the key, if the script has read them
-- Source: WIRE 3.
local function refusal(key)
    return redis.error_reply('ERR value is not an integer from 0 to 2^53: the counter '
        .. key:sub(1, 100))
end
local function number_of(key, least, text)
    local KEYS = {key} -- proxies that check the text refuse another name
    if not text or text.err then
        text = redis.call('getrange', KEYS[1], '0', '31') -- no number is longer
    end
    if text == '' and redis.call('exists', KEYS[1]) == 0 then
        return nil
    end
    local number = text:find('^%-?[1-9]%d*$') and tonumber(text) or text == '0' and 0
    if number and number >= least and (#text < 16 or number <= 2 ^ 53
            and string.format('%.0f', number) == text) then
        return number
    end
    return nil, refusal(key)
end
