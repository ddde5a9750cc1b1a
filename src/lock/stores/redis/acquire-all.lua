-- Takes several locks, all or none, with one try. Idempotent on the tokens.
-- KEYS per lock: lock, fence, queue, seen, turn, a key that never exists
-- ARGV[1] TTL in ms  ARGV[2] channel prefix  ARGV[3...] a token per lock
-- Returns {1, server time in ms, fence...} when all are granted, {0, index of the lock that is busy, ms that
-- it is busy for at most (-1: for ever), ms that it has been held (-1: not known), processes in its line} else.
local now = server_time()
local count = #KEYS / 6
local lasts, mine = {}, {}

for i = 1, count do
  local k = 6 * (i - 1)
  local holder = redis.call('GET', KEYS[k + 1])
  local last, spoilt = last_fence(KEYS[k + 2])
  if spoilt then return not_a_fence() end
  lasts[i] = last
  mine[i] = holder == ARGV[2 + i] and last ~= nil
  if holder and holder ~= ARGV[2 + i] then
    redis.call('DEL', KEYS[k + 6]) -- a read-only replica must fail here, not give a verdict
    local left = redis.call('PTTL', KEYS[k + 1])
    return {0, i, left, held_ms(last, now), redis.call('ZCARD', KEYS[k + 3])}
  end
  local head = not holder and first_in_line(KEYS[k + 3], KEYS[k + 4], KEYS[k + 5], '', now)
  if head then
    local left, is_new = reserve(KEYS[k + 5], head, now)
    local answer = {0, i, left, -1, redis.call('ZCARD', KEYS[k + 3])}
    if is_new then wake(KEYS[k + 3], ARGV[2], KEYS[k + 1], head, '') end
    return answer
  end
end

local answer = {1, math.floor(now / 1000)}
for i = 1, count do
  local k = 6 * (i - 1)
  if mine[i] then -- the reply to an earlier try was lost
    redis.call('PEXPIRE', KEYS[k + 1], ARGV[1])
    answer[2 + i] = lasts[i]
  else
    answer[2 + i] = grant(KEYS[k + 1], KEYS[k + 2], lasts[i], ARGV[2 + i], ARGV[1], now)
  end
end
return answer
