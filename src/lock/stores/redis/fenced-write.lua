-- Writes or deletes a key unless a newer fence has written it.
-- KEYS[1] key   KEYS[2] the fence that wrote it last
-- ARGV[1] fence  ARGV[2] value (absent: delete)
-- Returns 1 (written), 0 (refused, nothing changed).
local last = redis.call('GET', KEYS[2])
if last and tonumber(last) > tonumber(ARGV[1]) then return 0 end
redis.call('SET', KEYS[2], ARGV[1])
if ARGV[2] then
  redis.call('SET', KEYS[1], ARGV[2])
else
  redis.call('DEL', KEYS[1])
end
return 1
