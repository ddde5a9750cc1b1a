-- Takes several locks, all or none, with one try. Idempotent on the tokens. Comes after queue.lua and
-- grant.lua.
-- KEYS per lock: those of acquire.lua
-- ARGV[1] TTL in ms  ARGV[2...] a token per lock
-- Returns {1, server time in ms, fence...} when all are granted, {0, index of the lock that is busy, ms that
-- it is busy for at most (-1: for ever), ms that it has been held (-1: not known), processes that wait for it} else.
local now = server_time()
local count = #KEYS / 3
local lasts, mine = {}, {}

for i = 1, count do
  local lock, fence_key, queue = KEYS[3 * i - 2], KEYS[3 * i - 1], KEYS[3 * i]
  local holder = redis.pcall('GET', lock)
  if type(holder) == 'table' then return holder end -- nothing is taken yet
  local last, trouble = last_fence(fence_key)
  if trouble then return trouble end
  lasts[i] = last
  mine[i] = holder == ARGV[1 + i] and last ~= nil
  if holder and holder ~= ARGV[1 + i] then
    redis.call('ZREM', queue, '@none') -- a read-only replica must fail here, not give a verdict
    return {0, i, redis.call('PTTL', lock), held_ms(last, now), queue_length(queue)}
  end
  local head, standby, ends
  if not holder then head, standby, ends = living_head(queue, nil, now) end
  if head then
    local left, is_new = reserve(queue, head, ends, now)
    local length = queue_length(queue)
    if is_new then wake(head, standby, lock, nil) end
    return {0, i, left, -1, length}
  end
end

local answer = {1, math.floor(now / 1000)}
for i = 1, count do
  if mine[i] then
    keep(KEYS[3 * i - 2], KEYS[3 * i], ARGV[1])
    answer[2 + i] = lasts[i]
  else
    answer[2 + i] = grant(KEYS[3 * i - 2], KEYS[3 * i - 1], lasts[i], ARGV[1 + i], ARGV[1], now)
  end
end
return answer
