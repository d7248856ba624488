-- The id of a permit: a part of the scripts of permits.
-- Takes   owner, or the id as 32 hexadecimal digits, as Redisson returns it
-- Leaves  id: these 16 bytes, or the first 16 bytes of the SHA-1 of the owner
-- Source: WIRE 16.
local id, hex = '', #owner == 32 and owner:find('^%x+$') and owner or redis.sha1hex(owner)
for at = 1, 25, 8 do
    local n = tonumber(hex:sub(at, at + 7), 16)
    local low, lower, lowest = n % 16777216, n % 65536, n % 256
    id = id .. string.char((n - low) / 16777216, (low - lower) / 65536,
        (lower - lowest) / 256, lowest)
end
