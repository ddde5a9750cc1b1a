-- Deletes a lock if the token holds it, and hints at it to waiters.
-- KEYS[1] lock   KEYS[2] a key that never exists
-- ARGV[1] token  ARGV[2] channel  ARGV[3] name
-- Returns 1 (released) or 0 (not held by this token).
if redis.call('GET', KEYS[1]) ~= ARGV[1] then
  redis.call('DEL', KEYS[2]) -- a read-only replica must fail here, not give a verdict
  return 0
end
redis.call('DEL', KEYS[1])
redis.pcall('PUBLISH', ARGV[2], ARGV[3]) -- last, and allowed to fail: without rights on the channel waiters look by themselves
return 1
