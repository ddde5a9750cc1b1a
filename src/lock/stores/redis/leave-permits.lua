-- Takes a process out of the queue. What was reserved for it goes to the next one. Comes after pass-on.lua.
-- KEYS: those of permits.lua
-- ARGV[1] lock key, as messages name it  ARGV[2] process that leaves  ARGV[3...] what the rule wants to know
-- Returns 1.
ROOM = {unpack(ARGV, 3)}
leave_queue(KEYS[4], ARGV[2])
pass_on(ARGV[1], nil, server_time())
return 1
