-- Deletes those of many locks that their tokens hold, where nobody waits for any of them. All others are
-- left alone, to be released by release.lua.
-- KEYS: the locks (see acquire-many.lua)
-- ARGV per lock: those of release.lua
-- Returns per lock 1 (released) or 0 (nothing was done).
local count = #KEYS
local queues, answers, held = {}, {}, {}
for i = 1, count do
  queues[i] = '{' .. KEYS[i] .. '}:waiters'
  answers[i] = 0
end
if redis.call('EXISTS', unpack(queues)) > 0 then return answers end
local holders = redis.call('MGET', unpack(KEYS))
for i = 1, count do
  if holders[i] == ARGV[i] then
    held[#held + 1] = KEYS[i]
    answers[i] = 1
  end
end
if #held > 0 then redis.call('DEL', unpack(held)) end
return answers
