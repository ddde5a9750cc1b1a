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
  return {1, last, math.floor(now / 1000)}
end

local function busy(ms, held_for_ms)
  redis.call('HDEL', KEYS[3], '@none') -- a read-only replica must fail here, not give a verdict
  if not asking then return {0, ms, held_for_ms, redis.call('HLEN', KEYS[3]), ''} end
  local ticket, length = stand_in_line(KEYS[3], asking, ARGV[4], now)
  return {0, ms, held_for_ms, length, ticket}
end

if holder and holder ~= ARGV[1] then
  return busy(redis.call('PTTL', KEYS[1]), held_ms(last, now))
end

-- Free: it belongs to the head of the line, whoever is faster.
local line, ends = living_line(KEYS[3], asking, now)
if #line > 0 and line[1][1] ~= asking then
  local left, is_new = reserve(KEYS[3], line, ends, now)
  local answer = busy(left, -1)
  if is_new then wake(line, KEYS[1], asking) end
  return answer
end
if #line > 0 then redis.call('HDEL', KEYS[3], asking, '@turn') end
return {1, grant(KEYS[1], KEYS[2], last, ARGV[1], ARGV[2], now), math.floor(now / 1000)}
