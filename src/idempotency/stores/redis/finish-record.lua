-- Keeps the answer of an idempotency key, if the record is still as this fence has begun it.
-- KEYS[1] the record, a hash of fingerprint, fence and, once finished, answer   KEYS[2] a key that never exists
-- ARGV[1] fence  ARGV[2] answer  ARGV[3] life of the record in ms
-- Returns 'kept' (also when repeated) or 'stale'.
if redis.call('HGET', KEYS[1], 'fence') ~= ARGV[1] then
  redis.call('DEL', KEYS[2]) -- a read-only replica must fail here, not give a verdict
  return 'stale'
end
if redis.call('HSETNX', KEYS[1], 'answer', ARGV[2]) == 1 then
  redis.call('PEXPIRE', KEYS[1], ARGV[3])
end
return 'kept'
