-- Takes a process out of the line. If the lock is free and it was its turn, the next one gets it. Comes
-- after queue.lua.
-- KEYS[1] lock   KEYS[2] queue
-- ARGV[1] process that leaves
-- Returns 1.
local _, turn_of = read_line(KEYS[2])
redis.call('HDEL', KEYS[2], ARGV[1])
if turn_of == ARGV[1] then redis.call('HDEL', KEYS[2], '@turn') end
if redis.call('EXISTS', KEYS[1]) == 1 then return 1 end
local now = server_time()
local line, ends = living_line(KEYS[2], nil, now)
if #line == 0 then return 1 end
local _, is_new = reserve(KEYS[2], line, ends, now)
if is_new then wake(line, KEYS[1], nil) end
return 1
