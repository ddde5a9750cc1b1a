-- The long way of acquire.lua, whose keys, arguments and answers it shares: the lock is held, or others
-- wait for it, or its fence is ahead of the clock. Comes after queue.lua and grant.lua.
-- KEYS, ARGV: those of acquire.lua
-- Returns what acquire.lua returns.
local now = server_time()
local asking = ARGV[3]
local holder = redis.pcall('GET', KEYS[1])
if type(holder) == 'table' then return holder end -- nothing is written yet
local last, trouble = last_fence(KEYS[2])
if trouble then return trouble end

if holder == ARGV[1] and last then
  keep(KEYS[1], KEYS[3], ARGV[2])
  return {1, last, math.floor(now / 1000), asking and move_on(KEYS[3], asking, ARGV[5], now) or -1}
end

-- `returns`: whoever asks comes back when the time is over, since nobody else may.
local function busy(ms, held_for_ms, returns)
  if not asking then
    redis.call('ZREM', KEYS[3], '@none') -- a read-only replica must fail here, and never say busy
    return {0, ms, held_for_ms, queue_length(KEYS[3])}
  end
  local ticket, length, newcomer, position, look_ms = stand(KEYS[3], asking, ARGV[4], now)
  if position == 0 and length > 1 then keep_standby_awake(KEYS[3], KEYS[1], now) end
  return {0, ms, held_for_ms, length, ticket, newcomer, (returns or position < 2) and -1 or look_ms}
end

if holder and holder ~= ARGV[1] then
  return busy(redis.call('PTTL', KEYS[1]), held_ms(last, now))
end

-- Free: it belongs to the head of the queue, whoever is faster.
local head, standby, ends = living_head(KEYS[3], asking, now)
if head and head ~= asking then
  local left, is_new = reserve(KEYS[3], head, ends, now)
  local answer = busy(left, -1, is_new)
  if is_new then wake(head, standby, KEYS[1], asking) end
  return answer
end
local fence = grant(KEYS[1], KEYS[2], last, ARGV[1], ARGV[2], now)
local look_ms = asking and (head or ARGV[5] ~= '') and move_on(KEYS[3], asking, ARGV[5], now)
return {1, fence, math.floor(now / 1000), look_ms or -1}
