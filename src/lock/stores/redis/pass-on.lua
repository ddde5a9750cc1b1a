-- Shared by the scripts after which a permit may be free. Comes after a rule (count-room.lua).
-- KEYS[4] queue   ARGV: none of its own.
-- Returns nothing: it only defines a function.
-- If a permit is free and somebody waits, his turn is reserved and he is woken, unless he is asking himself.
-- Returns whether the one who is asking is next. Comes last in a script.
local function pass_on(name, asking, now)
  if redis.call('EXISTS', KEYS[4]) == 0 then return false end
  local line, ends = living_line(KEYS[4], asking, now)
  if #line == 0 or not choose(now) then return false end
  local _, is_new = reserve(KEYS[4], line, ends, now)
  if is_new or line[1][1] == asking then wake(line, name, asking) end
  return line[1][1] == asking
end
