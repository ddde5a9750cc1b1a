-- Deletes those of many locks that their tokens hold, where nobody waits for any of them. All others are
-- left alone, to be released by release.lua.
-- KEYS per lock: those of release.lua
-- ARGV per lock: those of release.lua
-- Returns per lock 1 (released) or 0 (nothing was done).
local count = #KEYS / 2
local locks, queues, answers, held = {}, {}, {}, {}
for i = 1, count do
  locks[i] = KEYS[2 * i - 1]
  queues[i] = KEYS[2 * i]
  answers[i] = 0
end
if redis.call('EXISTS', unpack(queues)) > 0 then return answers end
local holders = redis.call('MGET', unpack(locks))
for i = 1, count do
  if holders[i] == ARGV[i] then
    held[#held + 1] = locks[i]
    answers[i] = 1
  end
end
if #held > 0 then redis.call('DEL', unpack(held)) end
return answers
