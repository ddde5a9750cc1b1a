-- Takes a process out of the queue. If the lock is free and was reserved for it, the next one gets it. Comes
-- after queue.lua.
-- KEYS[1] lock   KEYS[2] queue
-- ARGV[1] process that leaves
-- Returns 1.
leave_queue(KEYS[2], ARGV[1])
if redis.call('EXISTS', KEYS[1]) == 1 then return 1 end
local now = server_time()
local head, standby, ends = living_head(KEYS[2], nil, now)
if not head then return 1 end
local _, is_new = reserve(KEYS[2], head, ends, now)
if is_new then wake(head, standby, KEYS[1], nil) end
return 1
