-- A member is in use again, whatever was told of it.
-- KEYS: those of pool-members.lua
-- ARGV[1] member
-- Returns how much was forgotten.
return redis.call('HDEL', KEYS[5], 'out:' .. ARGV[1], 'rest:' .. ARGV[1])
