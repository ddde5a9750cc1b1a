-- The long way of release.lua, whose keys, arguments and answers it shares: the lock is deleted, and
-- somebody stands in line for it. Comes after queue.lua.
-- KEYS, ARGV: those of release.lua
-- Returns what release.lua returns.
local now = server_time()
local head = first_in_line(KEYS[2], KEYS[3], KEYS[4], ARGV[3], now)
if not head then return 1 end
reserve(KEYS[4], head, now)
wake(KEYS[2], ARGV[2], KEYS[1], head, ARGV[3])
return head == ARGV[3] and 2 or 1
