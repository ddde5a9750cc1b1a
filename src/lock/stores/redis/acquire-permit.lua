-- Takes a permit, or says for how long there is none. Idempotent on the token. Comes after pass-on.lua.
-- KEYS: those of permits.lua
-- ARGV[1] lock key, as messages name it  ARGV[2] token  ARGV[3] TTL in ms
-- ARGV[4] process that waits ('': one try)  ARGV[5] the ticket of its front waiter, or ''  ARGV[6] that of the waiter
--   behind the one who asks, or ''
-- ARGV[7...] what the rule wants to know
-- Returns {1, fence, server time in ms, permit, how long the process may be silent in the place of its next waiter
-- in ms (-1: it has no place), permits that are free for it} when granted, {0, ms that it is busy for at most (-1:
-- not known), ms that a permit has been held (-1: not known), processes that wait, ms that nothing is granted to
-- anybody (-1: not so, -2: until somebody intervenes)} when busy; for a process that waits with three more: its
-- ticket, the ticket of whoever comes now, how long it may be silent in ms (-1: as usual).
local name, token, ttl = ARGV[1], ARGV[2], tonumber(ARGV[3])
local asking = ARGV[4] ~= '' and ARGV[4] or nil
local MOST_ASKED = 10
ROOM = {unpack(ARGV, 7)}
local now = server_time()
local now_ms = math.floor(now / 1000)
local last, trouble = last_fence(KEYS[3])
if trouble then return trouble end
restore()

local function answer(holder, free)
  local look_ms = -1
  if asking then look_ms = move_on(KEYS[4], asking, ARGV[6], now) end
  local left = math.max(0, free - count_ahead(KEYS[4], asking, ARGV[6]))
  return {1, string.format('%.0f', holder.fence), now_ms, holder.permit, look_ms, left}
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
  local another, free = choose(now)
  return answer(mine, another and free or 0)
end

-- How long permits have been held, from those that end first: all of them would be a long list.
local function held_for_ms()
  local members = redis.call('ZRANGE', KEYS[1], 0, MOST_ASKED - 1)
  local longest = -1
  for i = 1, #members do
    local holder = read_holder(string.match(members[i], '^(%S*)'))
    if holder and holder.fence > 0 then longest = math.max(longest, held_ms(holder.fence, now)) end
  end
  return longest
end

-- `returns`: whoever asks comes back when the time is over, since nobody else may.
local function busy(returns_ms, closed_ms, returns)
  local first = redis.call('ZRANGEBYSCORE', KEYS[1], '(' .. string.format('%.0f', now_ms), '+inf',
    'WITHSCORES', 'LIMIT', 0, 1)
  local ms = returns_ms
  if first[2] and (ms < 0 or first[2] - now_ms < ms) then ms = first[2] - now_ms end
  if not asking then
    redis.call('ZREM', KEYS[4], '@none') -- a read-only replica must fail here, and never say busy
    return {0, ms, held_for_ms(), queue_length(KEYS[4]), closed_ms}
  end
  local ticket, length, newcomer, position, look_ms = stand(KEYS[4], asking, ARGV[5], now)
  if position == 0 and length > 1 then keep_standby_awake(KEYS[4], name, now) end
  look_ms = (returns or position < 2) and -1 or look_ms
  return {0, ms, held_for_ms(), length, closed_ms, ticket, newcomer, look_ms}
end

-- How many are free where one is; else when one returns.
local permit, free, closed_ms = choose(now)
if not permit then
  forget_reservation(KEYS[4]) -- whoever had it has not missed it
  return busy(free, closed_ms)
end

-- Each process that waits has one of those that are free, whoever is faster.
local head, standby, ends
if redis.call('EXISTS', KEYS[4]) == 1 then -- a server without memory must refuse the first write: the grant
  head, standby, ends = living_head(KEYS[4], asking, now)
end
if head and count_ahead(KEYS[4], asking, ARGV[5]) >= free then
  local left, is_new = reserve(KEYS[4], head, ends, now)
  local reply = busy(left, -1, is_new)
  if is_new then wake(head, standby, name, asking) end
  return reply
end
local holder = {ends = now_ms + ttl, fence = mint(KEYS[3], last, now), permit = permit}
write_holder(token, holder)
sweep(now)
expire_with_last()
granted(permit, now)
local reply = answer(holder, free - 1)
pass_on(name, asking, now)
return reply
