-- Tokens were used with a member. Comes after pool-members.lua.
-- KEYS: those of pool-members.lua
-- ARGV[1] member  ARGV[2] how many
-- Returns 1.
add_use(ARGV[1], redis.call('HGET', KEYS[5], 'use:' .. ARGV[1]), pool_now(), 0, tonumber(ARGV[2]))
return 1
