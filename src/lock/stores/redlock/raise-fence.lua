-- Raises a lock's fence to that of the quorum, where the lock still holds the token. Never lowers one.
-- KEYS[1] lock   KEYS[2] fence   KEYS[3] queue
-- ARGV[1] token  ARGV[2] fence
-- Returns 1 (the fence is at least that now), 0 (the token does not hold the lock here).
if redis.call('GET', KEYS[1]) ~= ARGV[1] then
  redis.call('ZREM', KEYS[3], '@none') -- a read-only replica must fail here, not give a verdict
  return 0
end
local fence = ARGV[2]
local last = redis.call('GET', KEYS[2])
if last and tonumber(last) > tonumber(fence) then fence = last end
-- Absolute, in the server's own time: a clock that was stepped must not outlive its fence.
redis.call('SET', KEYS[2], fence, 'EXAT', math.floor(tonumber(fence) / 1000000) + 86400)
return 1
