-- Who holds a lock, and how many processes wait for it. Comes after queue.lua and grant.lua.
-- KEYS[1] lock   KEYS[2] fence   KEYS[3] queue
-- ARGV: none
-- Returns {token, PTTL, last fence (-1: none), ms that it has been held (-1: not known), processes that wait},
-- or {} when nobody holds it.
redis.call('ZREM', KEYS[3], '@none') -- a read-only replica must fail here, not give a verdict
local holder = redis.call('GET', KEYS[1])
if not holder then return {} end
local last = last_fence(KEYS[2])
return {holder, redis.call('PTTL', KEYS[1]), last or -1, held_ms(last, server_time()), queue_length(KEYS[3])}
