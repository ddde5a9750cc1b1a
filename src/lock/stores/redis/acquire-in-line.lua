-- The long way of acquire.lua, whose keys, arguments and answers it shares: the lock is held, or others
-- wait for it, or its fence is ahead of the clock. Comes after queue.lua and grant.lua.
-- KEYS, ARGV: those of acquire.lua
-- Returns what acquire.lua returns.
local now = server_time()
local asking = ARGV[4]
local holder = redis.call('GET', KEYS[1])
local last, spoilt = last_fence(KEYS[2])
if spoilt then return not_a_fence() end

if holder == ARGV[1] and last then -- the reply to an earlier try was lost
  redis.call('PEXPIRE', KEYS[1], ARGV[2])
  return {1, last, math.floor(now / 1000)}
end

-- The place in the line, taken or refreshed. A process that was taken out comes back with its old ticket.
local function stand_in_line()
  local ticket = redis.call('ZSCORE', KEYS[3], asking)
  if not ticket then
    ticket = ARGV[5]
    if ticket == '' then
      local newest = redis.call('ZRANGE', KEYS[3], -1, -1, 'WITHSCORES')[2]
      ticket = math.max((tonumber(newest) or 0) + 1, now)
    end
    redis.call('ZADD', KEYS[3], ticket, asking)
  end
  redis.call('HSET', KEYS[4], asking, now)
  redis.call('PEXPIRE', KEYS[3], KEEP_MS)
  redis.call('PEXPIRE', KEYS[4], KEEP_MS)
  return string.format('%.0f', tonumber(ticket))
end

local function busy(ms, held_for_ms)
  redis.call('DEL', KEYS[6]) -- a read-only replica must fail here, not give a verdict
  local ticket = ''
  if asking then ticket = stand_in_line() end
  return {0, ms, held_for_ms, redis.call('ZCARD', KEYS[3]), ticket}
end

if holder and holder ~= ARGV[1] then
  return busy(redis.call('PTTL', KEYS[1]), held_ms(last, now))
end

-- Free: it belongs to the head of the line, whoever is faster.
local head = first_in_line(KEYS[3], KEYS[4], KEYS[5], asking, now)
if head and head ~= asking then
  local left, is_new = reserve(KEYS[5], head, now)
  local answer = busy(left, -1)
  if is_new then wake(KEYS[3], ARGV[3], KEYS[1], head, asking) end
  return answer
end
if head then
  take_out(KEYS[3], KEYS[4], head)
  redis.call('DEL', KEYS[5])
end
return {1, grant(KEYS[1], KEYS[2], last, ARGV[1], ARGV[2], now), math.floor(now / 1000)}
