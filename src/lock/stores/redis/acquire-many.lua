-- One try each for many locks: those that are free or plainly busy and that nobody waits for. All others
-- are left alone, to be asked for by acquire.lua.
-- KEYS per lock: those of acquire.lua
-- ARGV per lock: token, TTL in ms, channel prefix
-- Returns per lock what acquire.lua returns, or 0: nothing was done.
local count = #KEYS / 6
local queues, answers = {}, {}
for i = 1, count do queues[i] = KEYS[6 * i - 3] end
local crowded = redis.call('EXISTS', unpack(queues)) > 0
local time = redis.call('TIME')
local ms = time[1] * 1000 + math.floor(time[2] / 1000)
-- A number given to redis.call is printed with 17 digits, so a fence keeps all of its 16.
local fence = time[1] * 1000000 + time[2]

local function take(lock, fence_key, token, ttl)
  local taken = redis.pcall('SET', lock, token, 'NX', 'PX', ttl)
  if not taken or taken.err then return taken or nil end
  local last = redis.pcall('SET', fence_key, fence, 'PXAT', ms + 86400000, 'GET')
  if not last then return true end
  local number = type(last) == 'string' and tonumber(last)
  if number and number < fence and number >= 0 then return true end
  -- The last fence is ahead of the clock, or it is none: as it was.
  redis.call('DEL', lock)
  if type(last) == 'string' then redis.call('SET', fence_key, last, 'KEEPTTL') end
  return {err = 'fence'}
end

local function busy(lock, fence_key, absent, token)
  local holder = redis.pcall('GET', lock)
  local last = redis.pcall('GET', fence_key)
  if type(holder) ~= 'string' or holder == token then return 0 end
  last = type(last) == 'string' and tonumber(last)
  if not last then return 0 end
  redis.call('DEL', absent) -- a read-only replica must fail here, not give a verdict
  return {0, redis.call('PTTL', lock), math.max(0, math.floor((fence - last) / 1000)), 0, ''}
end

for i = 1, count do
  local k, a = 6 * (i - 1), 3 * (i - 1)
  if crowded and redis.call('EXISTS', KEYS[k + 3]) == 1 then
    answers[i] = 0
  else
    local taken = take(KEYS[k + 1], KEYS[k + 2], ARGV[a + 1], ARGV[a + 2])
    if taken == true then
      answers[i] = {1, fence, ms}
    elseif taken then
      answers[i] = 0
    else
      answers[i] = busy(KEYS[k + 1], KEYS[k + 2], KEYS[k + 6], ARGV[a + 1])
    end
  end
end
return answers
