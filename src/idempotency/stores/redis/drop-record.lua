-- Forgets the record of an idempotency key, if this fence has begun and not finished it.
-- KEYS[1] the record, a hash of fingerprint, fence and, once finished, answer   KEYS[2] a key that never exists
-- ARGV[1] fence
-- Returns 1 if there was such a record, else 0.
local known = redis.call('HMGET', KEYS[1], 'fence', 'answer')
if known[1] ~= ARGV[1] or known[2] then
  redis.call('DEL', KEYS[2]) -- a read-only replica must fail here, not give a verdict
  return 0
end
return redis.call('DEL', KEYS[1])
