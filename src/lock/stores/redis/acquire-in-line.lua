-- The long way of acquire.lua, whose keys, arguments and answers it shares: the lock is held, or others
-- wait for it, or its fence is ahead of the clock. Comes after queue.lua and grant.lua.
-- KEYS, ARGV: those of acquire.lua
-- Returns what acquire.lua returns.
local now = server_time()
local asking = ARGV[3]
local holder = redis.call('GET', KEYS[1])
local last, spoilt = last_fence(KEYS[2])
if spoilt then return not_a_fence() end

if holder == ARGV[1] and last then
  keep(KEYS[1], KEYS[3], ARGV[2])
  return {1, last, math.floor(now / 1000)}
end

-- The place in the line, taken or refreshed; a process that was taken out comes back with its old ticket.
-- Returns the ticket and the length of the line.
local function stand_in_line()
  local line = read_line(KEYS[3])
  local ticket, newest, length = nil, 0, #line
  for i = 1, #line do
    if line[i][1] == asking then ticket = line[i][2] end
    newest = line[i][2]
  end
  if not ticket then
    ticket = tonumber(ARGV[4]) or math.max(newest + 1, now)
    length = length + 1
  end
  local printed = string.format('%.0f', ticket)
  redis.call('HSET', KEYS[3], asking, printed .. ' ' .. string.format('%.0f', now))
  redis.call('PEXPIRE', KEYS[3], KEEP_MS)
  return printed, length
end

local function busy(ms, held_for_ms)
  redis.call('HDEL', KEYS[3], '@none') -- a read-only replica must fail here, not give a verdict
  if not asking then return {0, ms, held_for_ms, redis.call('HLEN', KEYS[3]), ''} end
  local ticket, length = stand_in_line()
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
