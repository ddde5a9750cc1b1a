-- A member rests: until the latest time that anybody was told. Comes after pool-members.lua.
-- KEYS: those of pool-members.lua
-- ARGV[1] member  ARGV[2] for how long, in ms
-- Returns 1.
local until_ms = pool_now() + tonumber(ARGV[2])
local told = tonumber(redis.call('HGET', KEYS[5], 'rest:' .. ARGV[1])) or 0
write_member('rest:' .. ARGV[1], string.format('%.0f', math.max(told, until_ms)))
return 1
