-- Shared by the scripts after which a permit may be free. Comes after a rule (count-room.lua).
-- KEYS[4] queue   ARGV: none of its own.
-- Returns nothing: it only defines a function.
-- If a permit is free and somebody waits, it is reserved for the head, which is woken unless it is asking itself.
-- Returns whether the one who is asking is next. Comes last in a script.
local function pass_on(name, asking, now)
  if redis.call('EXISTS', KEYS[4]) == 0 then return false end
  local head, standby, ends = living_head(KEYS[4], asking, now)
  if not head or not choose(now) then return false end
  local _, is_new = reserve(KEYS[4], head, ends, now)
  if is_new then wake(head, standby, name, asking) end
  return head == asking
end
