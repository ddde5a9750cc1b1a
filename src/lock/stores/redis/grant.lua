-- Shared by the scripts that take locks: the last fence, and the grant. Comes after queue.lua and fence.lua.
-- KEYS: each function is given the keys it uses.   ARGV: none of its own.
-- Returns nothing: it only defines functions.
-- The last fence, or nil where none is kept; and the error to return where the key holds something else.
-- Errors of scripts that have not written are returned: one that is raised may come after a write.
local function last_fence(key)
  local value = redis.pcall('GET', key)
  if not value then return nil end
  if type(value) == 'table' then return nil, value end
  local fence = fence_of(value)
  if fence then return fence end
  return nil, redis.error_reply('DOCLOCK the fence key holds something that is not a fence')
end

-- How long the present holder has held the lock, in ms; -1 where not known.
local function held_ms(last, now)
  if not last then return -1 end
  return math.max(0, math.floor((now - last) / 1000))
end

-- A fence above all earlier ones, written down.
local function mint(fence_key, last, now)
  local fence = math.max((last or 0) + 1, now)
  write_fence(fence_key, fence)
  return fence
end

-- Gives the lock to the token. Returns the fence.
local function grant(lock, fence_key, last, token, ttl, now)
  local fence = mint(fence_key, last, now)
  redis.call('SET', lock, token, 'PX', ttl)
  return fence
end

-- The token holds the lock already, since the reply to an earlier try was lost. Gives it the full life
-- again, but never a shorter one: a try that comes late must do no harm to a lease that was extended.
local function keep(lock, queue, ttl)
  if redis.call('PTTL', lock) < tonumber(ttl) then
    redis.call('PEXPIRE', lock, ttl)
  else
    redis.call('ZREM', queue, '@none') -- a read-only replica must fail here, not grant anything
  end
end
