-- How many permits are available, or how far a latch is from 0.
-- KEYS  semaphore or latch
-- ARGV  question, ''
-- Reply {question, number}; 0 if there is none
-- Source: WIRE 15, 17.
return {ARGV[1], redis.call('get', KEYS[1]) or 0}
