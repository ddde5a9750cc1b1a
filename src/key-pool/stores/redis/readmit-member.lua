-- A member is in use again, whatever was told of it. Comes after pool-members.lua.
-- KEYS: those of pool-members.lua
-- ARGV[1] member
-- Returns how much was forgotten.
local forgotten = redis.call('HDEL', KEYS[5], 'out:' .. ARGV[1], 'rest:' .. ARGV[1])
keep_members()
return forgotten
