-- The long way of release.lua, whose keys, arguments and answers it shares: the lock is deleted, and
-- somebody stands in line for it. Comes after queue.lua.
-- KEYS, ARGV: those of release.lua
-- Returns what release.lua returns.
local own = string.match(ARGV[1], '^[^.]+%.([^.]+)%.')
local now = server_time()
local line, ends = living_line(KEYS[2], own, now)
if #line == 0 then return 1 end
reserve(KEYS[2], line, ends, now)
wake(line, KEYS[1], own)
return line[1][1] == own and 2 or 1
