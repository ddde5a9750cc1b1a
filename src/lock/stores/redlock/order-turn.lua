-- Whether anybody waits, and, if that is wanted, reserves the turn of the first one and wakes it: the lock is
-- free. Comes after order.lua.
-- KEYS: those of order.lua
-- ARGV[1] lock key, as messages name it  ARGV[2] 1: reserve the turn
-- Returns {how many wait, ms that the turn of the first is reserved for yet}.
if redis.call('EXISTS', KEYS[1]) == 0 then return {0, 0} end
local now = server_time()
local head, ends = living_head(nil, now)
if not head then return {0, 0} end
local count = redis.call('ZCARD', KEYS[1])
if ARGV[2] ~= '1' then return {count, math.max(0, math.ceil((ends - now) / 1000))} end
return {count, reserve(head, ends, now, ARGV[1])}
