-- Takes a process out of the line. If the lock is free and it was its turn, the next one gets it.
-- KEYS[1] lock   KEYS[2] queue   KEYS[3] seen   KEYS[4] turn
-- ARGV[1] process that leaves  ARGV[2] channel prefix
-- Returns 1.
take_out(KEYS[2], KEYS[3], ARGV[1])
local turn_of = read_turn(KEYS[4])
if turn_of == ARGV[1] then redis.call('DEL', KEYS[4]) end
if redis.call('EXISTS', KEYS[1]) == 1 then return 1 end
local now = server_time()
local head = first_in_line(KEYS[2], KEYS[3], KEYS[4], '', now)
if not head then return 1 end
local _, is_new = reserve(KEYS[4], head, now)
if is_new then wake(KEYS[2], ARGV[2], KEYS[1], head, '') end
return 1
