-- Who holds a lock.
-- KEYS[1] lock   KEYS[2] fence   KEYS[3] a key that never exists
-- ARGV: none
-- Returns {token, PTTL, last fence or ''} or {} when nobody does.
redis.call('DEL', KEYS[3]) -- a read-only replica must fail here, not give a verdict
local holder = redis.call('GET', KEYS[1])
if not holder then return {} end
return {holder, redis.call('PTTL', KEYS[1]), redis.call('GET', KEYS[2]) or ''}
