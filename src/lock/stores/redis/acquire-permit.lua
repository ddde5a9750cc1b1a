-- Takes a permit, or says for how long there is none. Idempotent on the token. Comes after pass-on.lua.
-- KEYS: those of permits.lua
-- ARGV[1] lock key, as messages name it  ARGV[2] token  ARGV[3] TTL in ms
-- ARGV[4] process that waits ('': one try)  ARGV[5] the ticket it was given before, or ''
-- ARGV[6...] what the rule wants to know
-- Returns {1, fence, server time in ms, permit} when granted, {0, ms that it is busy for at most (-1: not
-- known), ms that the oldest permit has been held (-1: not known), processes in line, ticket or '', ms that
-- nothing is granted to anybody (-1: not so, -2: until somebody intervenes)} when busy.
local name, token, ttl = ARGV[1], ARGV[2], tonumber(ARGV[3])
local asking = ARGV[4] ~= '' and ARGV[4] or nil
ROOM = {unpack(ARGV, 6)}
local now = server_time()
local now_ms = math.floor(now / 1000)
local last, trouble = last_fence(KEYS[3])
if trouble then return trouble end
restore()

local function answer(holder)
  return {1, string.format('%.0f', holder.fence), now_ms, holder.permit}
end

local mine = read_holder(token)
if mine and mine.ends > now_ms then
  -- The reply to an earlier try was lost. The full life again, but never a shorter one.
  mine.ends = math.max(mine.ends, now_ms + ttl)
  if mine.fence == 0 then
    mine.fence = mint(KEYS[3], last, now)
  end
  write_holder(token, mine)
  expire_with_last()
  return answer(mine)
end

local function busy(returns_ms, closed_ms)
  redis.call('HDEL', KEYS[4], '@none') -- a read-only replica must fail here, not give a verdict
  local first = redis.call('ZRANGEBYSCORE', KEYS[1], '(' .. string.format('%.0f', now_ms), '+inf',
    'WITHSCORES', 'LIMIT', 0, 1)
  local ms = returns_ms
  if first[2] and (ms < 0 or first[2] - now_ms < ms) then ms = first[2] - now_ms end
  local held_for = -1
  local records = redis.call('HVALS', KEYS[2])
  for i = 1, #records do
    local fence = tonumber(string.match(records[i], '^%d+ (%d+)'))
    if fence and fence > 0 then held_for = math.max(held_for, held_ms(fence, now)) end
  end
  if not asking then return {0, ms, held_for, redis.call('HLEN', KEYS[4]), '', closed_ms} end
  local ticket, length = stand_in_line(KEYS[4], asking, ARGV[5], now)
  return {0, ms, held_for, length, ticket, closed_ms}
end

local permit, returns_ms, closed_ms = choose(now)
if not permit then
  redis.call('HDEL', KEYS[4], '@turn') -- whoever had it has not missed it
  return busy(returns_ms, closed_ms)
end

-- Free: it belongs to the head of the line, whoever is faster.
local line, ends = {}, 0
if redis.call('EXISTS', KEYS[4]) == 1 then -- a server without memory must refuse the first write: the grant
  line, ends = living_line(KEYS[4], asking, now)
end
if #line > 0 and line[1][1] ~= asking then
  local left, is_new = reserve(KEYS[4], line, ends, now)
  local reply = busy(left, -1)
  if is_new then wake(line, name, asking) end
  return reply
end
local holder = {ends = now_ms + ttl, fence = mint(KEYS[3], last, now), permit = permit}
write_holder(token, holder)
sweep(now)
expire_with_last()
granted(permit, now)
if #line > 0 then
  redis.call('HDEL', KEYS[4], asking, '@turn')
  pass_on(name, nil, now)
end
return answer(holder)
