-- The long way of release.lua, whose keys, arguments and answers it shares: the lock is deleted, and
-- somebody waits for it. Comes after queue.lua.
-- KEYS, ARGV: those of release.lua
-- Returns what release.lua returns.
local own = string.match(ARGV[1], '^[^.]+%.([^.]+)%.')
local now = server_time()
local head, standby, ends = living_head(KEYS[2], own, now)
if not head then return 1 end
reserve(KEYS[2], head, ends, now)
wake(head, standby, KEYS[1], own)
return head == own and 2 or 1
