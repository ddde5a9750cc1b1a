-- Writes or deletes a key unless a newer fence has written it. Comes after decimals.lua.
-- KEYS[1] key   KEYS[2] the fence that wrote it last
-- ARGV[1] fence  ARGV[2] value (absent: delete)
-- Returns 1 (written), 0 (refused, nothing changed).
local last = redis.pcall('GET', KEYS[2])
if type(last) == 'table' and not last.err:find('WRONGTYPE', 1, true) then return last end
if last and not is_decimal(last) then
  return redis.error_reply('DOCLOCK ' .. KEYS[2] .. ' holds something that is not a fence, so nothing was written. '
    .. 'Delete that key, or set it to the fence of the last write')
end
if last and below(ARGV[1], last) then return 0 end
redis.call('SET', KEYS[2], ARGV[1])
if ARGV[2] then
  redis.call('SET', KEYS[1], ARGV[2])
else
  redis.call('DEL', KEYS[1])
end
return 1
