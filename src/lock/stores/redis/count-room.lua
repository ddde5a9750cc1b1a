-- The rule of a plain semaphore: all permits are the same, and there are so many of them. A rule comes after
-- permits.lua and defines two functions:
--   choose(now): the name of the permit that is next, '' where all are the same, and how many are free. Else nil;
--     when a permit becomes free by itself, in ms from now (-1: when somebody lets go); and for how long nothing at all is
--     granted, whoever lets go (-1: that is not so, -2: until somebody intervenes). Writes nothing.
--   granted(permit, now): the chosen one was granted.
-- KEYS[1] the permits, as in permits.lua
-- ARGV: in ROOM: [1] how many permits there are
-- Returns nothing: it only defines functions.
local function choose(now)
  local now_ms = string.format('%.0f', math.floor(now / 1000))
  local free = tonumber(ROOM[1]) - redis.call('ZCOUNT', KEYS[1], '(' .. now_ms, '+inf')
  if free > 0 then return '', free end
  return nil, -1, -1
end

local function granted() end
