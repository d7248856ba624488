-- Reads a counter of at most 15 digits: a part of the scripts that count. The functions
-- of number.lua, which read any counter, cost more than the rest of such a script.
-- Takes   text: the first 32 bytes of the key, or an error
-- Leaves  number: what the key holds; false or nil if number.lua must read it: there is no
--         key, or it holds something else than a whole number from 0 to 10^15 - 1
-- Source: WIRE 3.
local number = not text.err and (text == '0' or #text < 16 and text:find('^[1-9]%d*$'))
    and tonumber(text)
