-- Takes a lock, or says who is in the way. Idempotent on the token. This part is the short way for a free
-- lock that nobody waits for; acquire-in-line.lua goes on for all others.
-- KEYS[1] lock   KEYS[2] fence   KEYS[3] queue   KEYS[4] seen   KEYS[5] turn   KEYS[6] a key that never exists
-- ARGV[1] token  ARGV[2] TTL in ms  ARGV[3] channel prefix
-- ARGV[4] process that waits (absent: one try)  ARGV[5] the ticket it was given before, or ''
-- Returns {1, fence, server time in ms} when granted, {0, ms that it is busy for at most (-1: for ever),
-- ms that it has been held (-1: not known), processes in line, ticket or ''} when busy.
-- A number given to redis.call is printed with 17 digits, so a fence keeps all of its 16.
local free = redis.call('EXISTS', KEYS[3]) == 0
  and redis.call('SET', KEYS[1], ARGV[1], 'NX', 'PX', ARGV[2])
if free then
  local time = redis.call('TIME')
  local ms = time[1] * 1000 + math.floor(time[2] / 1000)
  local fence = time[1] * 1000000 + time[2]
  -- Absolute, in the server's own time: a clock that was stepped must not outlive its fence.
  local last = redis.pcall('SET', KEYS[2], fence, 'PXAT', ms + 86400000, 'GET')
  if not last then return {1, fence, ms} end
  local number = type(last) == 'string' and tonumber(last)
  if number and number < fence and number >= 0 then return {1, fence, ms} end
  -- The last fence is ahead of the clock, or it is none: as it was, and by the long way.
  redis.call('DEL', KEYS[1])
  if type(last) == 'string' then redis.call('SET', KEYS[2], last, 'KEEPTTL') end
end
