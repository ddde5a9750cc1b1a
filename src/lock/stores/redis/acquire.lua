-- Takes a lock, or says who is in the way. Idempotent on the token. This part is the short way for a free
-- lock that nobody waits for; acquire-in-line.lua goes on for all others. Comes after fence.lua.
-- KEYS[1] lock   KEYS[2] fence   KEYS[3] queue
-- ARGV[1] token  ARGV[2] TTL in ms
-- ARGV[3] process that waits (absent: one try)  ARGV[4] the ticket of its front waiter, or ''  ARGV[5] that of the
--   waiter behind the one who asks, or ''
-- Returns the fence when granted at once (the server's time in us is the same number), {1, fence, server
-- time in ms, how long the process may be silent in the place of its next waiter in ms (-1: it has no place)} when
-- granted otherwise, {0, ms that it is busy for at most (-1: for ever), ms that it has been held (-1: not known),
-- processes that wait} when busy; for a process that waits with three more: its ticket, the ticket of whoever
-- comes now, how long it may be silent in ms (-1: as usual).
local free = redis.call('EXISTS', KEYS[3]) == 0
  and redis.call('SET', KEYS[1], ARGV[1], 'NX', 'PX', ARGV[2])
if free then
  local time = redis.call('TIME')
  local fence = time[1] * 1000000 + time[2] -- printed with 17 digits by redis.call: it has 16
  -- Absolute, in the server's own time: a clock that was stepped must not outlive its fence.
  local last = redis.pcall('SET', KEYS[2], fence, 'EXAT', time[1] + 86400, 'GET')
  if not last then return fence end
  local number = type(last) == 'string' and tonumber(last)
  if number and number < fence and number >= 0 then return fence end
  -- The last fence is ahead of the clock, or it is none: as it was, and by the long way.
  redis.call('DEL', KEYS[1])
  if type(last) == 'string' then put_back(KEYS[2], last) end
end
