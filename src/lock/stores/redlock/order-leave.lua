-- Gives a process's place up. If it was the first and did not get the lock, it is the next one's turn. Comes
-- after order.lua.
-- KEYS: those of order.lua
-- ARGV[1] lock key, as messages name it  ARGV[2] process  ARGV[3] 1: it has the lock
-- Returns 1.
local was_first = redis.call('ZRANK', KEYS[1], ARGV[2]) == 0
take_out(ARGV[2])
if not was_first then return 1 end
redis.call('DEL', KEYS[3])
if ARGV[3] == '1' then return 1 end
local now = server_time()
local head, ends = living_head(nil, now)
if head then reserve(head, ends, now, ARGV[1]) end
return 1
