-- Takes a process out of the line. If it was its turn, the next one gets it. Comes after pass-on.lua.
-- KEYS: those of permits.lua
-- ARGV[1] lock key, as messages name it  ARGV[2] process that leaves  ARGV[3...] what the rule wants to know
-- Returns 1.
ROOM = {unpack(ARGV, 3)}
local _, turn_of = read_line(KEYS[4])
redis.call('HDEL', KEYS[4], ARGV[2])
if turn_of == ARGV[2] then redis.call('HDEL', KEYS[4], '@turn') end
pass_on(ARGV[1], nil, server_time())
return 1
