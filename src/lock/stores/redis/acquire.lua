-- Takes a lock, or says who is in the way. Idempotent on the token.
-- KEYS[1] lock   KEYS[2] fence   KEYS[3] a key that never exists
-- ARGV[1] token  ARGV[2] TTL in ms
-- Returns {1, fence, server time in ms} when granted, {0, PTTL of the holder, ms it has held (-1: not known)} when busy.
local time = redis.call('TIME')
local now = tonumber(time[1]) * 1000000 + tonumber(time[2])
local holder = redis.call('GET', KEYS[1])
local last = redis.call('GET', KEYS[2])

local lastFence = 0
if last then
  lastFence = tonumber(last)
  if not lastFence or lastFence ~= math.floor(lastFence) or lastFence < 0 or lastFence >= 9007199254740991 then
    return redis.error_reply('DOCLOCK the fence key holds something that is not a fence')
  end
end

if holder and holder ~= ARGV[1] then
  redis.call('DEL', KEYS[3]) -- a read-only replica must fail here, not give a verdict
  local heldMs = -1
  if last then heldMs = math.max(0, math.floor((now - lastFence) / 1000)) end
  return {0, redis.call('PTTL', KEYS[1]), heldMs}
end

if holder and last then -- the reply to an earlier try was lost
  redis.call('PEXPIRE', KEYS[1], ARGV[2])
  return {1, last, math.floor(now / 1000)}
end

local fence = math.max(lastFence + 1, now)
local printed = string.format('%.0f', fence)
-- Absolute, in the server's own time: a clock that was stepped must not outlive its fence.
redis.call('SET', KEYS[2], printed, 'PXAT', string.format('%.0f', math.floor(fence / 1000) + 86400000))
redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
return {1, printed, math.floor(now / 1000)}
