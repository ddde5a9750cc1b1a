-- Gives a permit back if the token holds one; reserves the turn of the next in line and wakes it. Comes after
-- pass-on.lua.
-- KEYS: those of permits.lua
-- ARGV[1] lock key, as messages name it  ARGV[2] token  ARGV[3...] what the rule wants to know
-- Returns 0 (not held by this token), 1 (released), 2 (released, and the token's own process is next).
ROOM = {unpack(ARGV, 3)}
local now = server_time()
sweep(now)
restore()
local holder = read_holder(ARGV[2])
if not holder then return 0 end
redis.call('ZREM', KEYS[1], ARGV[2] .. ' ' .. holder.permit)
redis.call('HDEL', KEYS[2], ARGV[2])
local own = string.match(ARGV[2], '^[^.]+%.([^.]+)%.')
return pass_on(ARGV[1], own, now) and 2 or 1
