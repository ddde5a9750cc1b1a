-- Takes a lock away from its holder: the key lives on as a marker that cannot be renewed, so that nobody
-- is granted the lock before the holder has let go of it or its life is over.
-- KEYS[1] lock   KEYS[2] queue
-- ARGV[1] the token to revoke, as seen before  ARGV[2] channel of its process
-- Returns 1 (revoked), 0 (that token does not hold the lock).
if redis.call('GET', KEYS[1]) ~= ARGV[1] then
  redis.call('ZREM', KEYS[2], '@none') -- a read-only replica must fail here, not give a verdict
  return 0
end
redis.call('SET', KEYS[1], 'revoked.' .. ARGV[1], 'KEEPTTL')
redis.pcall('PUBLISH', ARGV[2], '!' .. KEYS[1] .. ' ' .. ARGV[1]) -- last, and allowed to fail: the next renewal tells it too
return 1
