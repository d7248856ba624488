-- How many permits are available, how far a latch is from 0, or the latest token.
-- KEYS  what is counted; before it perhaps others
-- ARGV  question, ''
-- Reply {question, number}; 0 if there is none. A text is cut to 191 bytes
-- Source: WIRE 10, 15, 17.
local text = redis.call('get', KEYS[#KEYS]) or '0'
return {ARGV[1], text:sub(1, 191)}
