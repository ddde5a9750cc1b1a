-- Deletes a lock if the token holds it (revoked or not), reserves the turn of the next in line and wakes it.
-- This part is the short way where nobody waits; release-to-next.lua goes on where somebody does.
-- KEYS[1] lock   KEYS[2] queue
-- ARGV[1] token
-- Returns 0 (not held by this token), 1 (released), 2 (released, and the token's own process is next).
local holder = redis.call('GET', KEYS[1])
if holder ~= ARGV[1] and holder ~= 'revoked.' .. ARGV[1] then
  redis.call('ZREM', KEYS[2], '@none') -- a read-only replica must fail here, not give a verdict
  return 0
end
redis.call('DEL', KEYS[1])
if redis.call('EXISTS', KEYS[2]) == 0 then return 1 end
