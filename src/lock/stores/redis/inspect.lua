-- Who holds a lock, and how many processes wait for it.
-- KEYS[1] lock   KEYS[2] fence   KEYS[3] queue   KEYS[4] a key that never exists
-- ARGV: none
-- Returns {token, PTTL, last fence (-1: none), ms that it has been held (-1: not known), processes in line},
-- or {} when nobody holds it.
redis.call('DEL', KEYS[4]) -- a read-only replica must fail here, not give a verdict
local holder = redis.call('GET', KEYS[1])
if not holder then return {} end
local last = last_fence(KEYS[2])
return {holder, redis.call('PTTL', KEYS[1]), last or -1, held_ms(last, server_time()), redis.call('ZCARD', KEYS[3])}
