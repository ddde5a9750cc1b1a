-- Shared by the scripts about permits, each of which is given all of these keys. Comes after queue.lua and
-- grant.lua.
-- KEYS[1] who holds permits until when: a sorted set "<token> <permit>" -> server time in ms
-- KEYS[2] the same again: a hash token -> "<end> <fence> <permit>"
-- KEYS[3] fence   KEYS[4] queue   KEYS[5] what the rule remembers
-- ARGV: none of its own.
-- Returns nothing: it only defines functions. A permit has a name where the rule tells one from another.
local ROOM = {}

local function read_holder(token)
  local record = redis.call('HGET', KEYS[2], token)
  if not record then return nil end
  local ends, fence, permit = string.match(record, '^(%d+) (%d+) (.*)$')
  if not ends then return nil end
  return {ends = tonumber(ends), fence = tonumber(fence), permit = permit}
end

local function write_holder(token, holder)
  local ends = string.format('%.0f', holder.ends)
  redis.call('ZADD', KEYS[1], ends, token .. ' ' .. holder.permit)
  redis.call('HSET', KEYS[2], token, ends .. ' ' .. string.format('%.0f', holder.fence) .. ' ' .. holder.permit)
end

-- Should one of the two keys have been lost, the other one restores it: nobody's permit is given away.
-- What a hash that was lost knew of fences is lost, and 0 says so.
local function restore()
  if redis.call('ZCARD', KEYS[1]) == redis.call('HLEN', KEYS[2]) then return end
  local records = redis.call('HGETALL', KEYS[2])
  for i = 1, #records, 2 do
    local ends, permit = string.match(records[i + 1], '^(%d+) %d+ (.*)$')
    if ends then redis.call('ZADD', KEYS[1], ends, records[i] .. ' ' .. permit) end
  end
  local members = redis.call('ZRANGE', KEYS[1], 0, -1, 'WITHSCORES')
  for i = 1, #members, 2 do
    local token, permit = string.match(members[i], '^(%S+) (.*)$')
    if token then
      redis.call('HSETNX', KEYS[2], token, string.format('%.0f', members[i + 1]) .. ' 0 ' .. permit)
    end
  end
end

-- Forgets those whose time is over. Always a write, so a read-only replica fails here and gives no verdict;
-- and the first one, so that a server without memory still renews and releases.
local function sweep(now)
  local now_ms = math.floor(now / 1000)
  local over = redis.call('ZRANGEBYSCORE', KEYS[1], '-inf', now_ms)
  redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', now_ms)
  for i = 1, #over do
    redis.call('HDEL', KEYS[2], string.match(over[i], '^(%S*)'))
  end
end

-- Nothing stays behind once the last permit is over.
local function expire_with_last()
  local last = redis.call('ZRANGE', KEYS[1], -1, -1, 'WITHSCORES')
  if not last[2] then return end
  local ends = string.format('%.0f', last[2] + 1000)
  redis.call('PEXPIREAT', KEYS[1], ends)
  redis.call('PEXPIREAT', KEYS[2], ends)
end

-- The permits that are held, by their names, as a list.
local function held_permits(now)
  local live = redis.call('ZRANGEBYSCORE', KEYS[1], '(' .. string.format('%.0f', math.floor(now / 1000)), '+inf')
  local permits = {}
  for i = 1, #live do permits[i] = string.match(live[i], '^%S+ (.*)$') or '' end
  return permits
end
