-- Deletes those of many locks that their tokens hold and that nobody waits for. Those that somebody waits for,
-- or that are revoked, are left alone, to be released by release.lua.
-- KEYS: the locks (see acquire-many.lua)
-- ARGV per lock: those of release.lua
-- Returns per lock 1 (released), 3 (not held by this token) or 0 (nothing was done).
local count = #KEYS
local queues, answers, written = {}, {}, {}
for i = 1, count do queues[i] = '{' .. KEYS[i] .. '}:waiters' end
local crowded = redis.call('EXISTS', unpack(queues)) > 0
local holders = redis.call('MGET', unpack(KEYS))
for i = 1, count do
  local lock, queue, holder, token = KEYS[i], queues[i], holders[i], ARGV[i]
  answers[i] = 0
  if crowded and redis.call('EXISTS', queue) == 1 then
    -- left alone
  elseif holder == token then
    written[#written + 1] = lock
    answers[i] = 1
  elseif holder and holder ~= 'revoked.' .. token or not holder and redis.call('EXISTS', lock) == 0 then
    written[#written + 1] = queue -- absent: a read-only replica must fail below, not say what is held
    answers[i] = 3
  end
end
if #written > 0 then redis.call('DEL', unpack(written)) end
return answers
