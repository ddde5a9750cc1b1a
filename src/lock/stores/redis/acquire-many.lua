-- One try each for many locks: those that are free or plainly busy and that nobody waits for. All others
-- are left alone, to be asked for by acquire.lua. Comes after fence.lua.
-- KEYS: the locks. The fence and the queue of each are made here: on the one server that this is for, keys
-- need not be told, and each that is told costs the client more than the server spends on making it.
-- ARGV per lock: token, TTL in ms
-- Returns per lock what acquire.lua returns, or 0: nothing was done.
local count = #KEYS
local queues, answers = {}, {}
for i = 1, count do queues[i] = '{' .. KEYS[i] .. '}:waiters' end
local crowded = redis.call('EXISTS', unpack(queues)) > 0
local time = redis.call('TIME')
local fence = time[1] * 1000000 + time[2] -- printed with 17 digits by redis.call: it has 16

local function take(lock, fence_key, token, ttl)
  local taken = redis.pcall('SET', lock, token, 'NX', 'PX', ttl)
  if not taken then return false end
  if taken.err then return 0 end
  local last = redis.pcall('SET', fence_key, fence, 'EXAT', time[1] + 86400, 'GET')
  if not last then return fence end
  local number = type(last) == 'string' and tonumber(last)
  if number and number < fence and number >= 0 then return fence end
  -- The last fence is ahead of the clock, or it is none: as it was.
  redis.call('DEL', lock)
  if type(last) == 'string' then put_back(fence_key, last) end
  return 0
end

local function busy(lock, fence_key, queue, token)
  local holder = redis.pcall('GET', lock)
  local last = redis.pcall('GET', fence_key)
  if type(holder) ~= 'string' or holder == token then return 0 end
  last = type(last) == 'string' and tonumber(last)
  if not last then return 0 end
  -- A read-only replica must fail here, not give a verdict; others of the batch may have been taken, so not
  -- for all of them.
  local written, left = redis.pcall('ZREM', queue, '@none'), redis.pcall('PTTL', lock)
  if type(written) ~= 'number' or type(left) ~= 'number' then return 0 end
  return {0, left, math.max(0, math.floor((fence - last) / 1000)), 0}
end

for i = 1, count do
  local lock, queue, token = KEYS[i], queues[i], ARGV[2 * i - 1]
  local fence_key = '{' .. lock .. '}:fence'
  if crowded and redis.call('EXISTS', queue) == 1 then
    answers[i] = 0
  else
    answers[i] = take(lock, fence_key, token, ARGV[2 * i]) or busy(lock, fence_key, queue, token)
  end
end
return answers
