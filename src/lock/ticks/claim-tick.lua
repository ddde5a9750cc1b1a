-- Claims a scheduled instant of a job, guarded by the fence of the job's lock. Comes after decimals.lua.
-- KEYS[1] the job's mark, a hash of tick and fence; it never expires   KEYS[2] a key that never exists
-- ARGV[1] tick in ms since the epoch  ARGV[2] fence  ARGV[3] 1: done, 0: only begun
-- Returns 'claimed', 'done' (this tick or a later one was done) or 'stale' (a newer fence has claimed).
local mark = redis.call('HMGET', KEYS[1], 'tick', 'fence')
local lastTick, lastFence = mark[1] or '', mark[2] or ''

if (lastTick .. lastFence):find('[^0-9]') then
  return redis.error_reply('DOCLOCK the mark of this job holds something that is neither tick nor fence')
end
if lastTick == ARGV[1] and lastFence == ARGV[2] then
  redis.call('DEL', KEYS[2]) -- a read-only replica must fail here, not give a verdict
  return 'claimed'
end
if below(ARGV[2], lastFence) then
  redis.call('DEL', KEYS[2])
  return 'stale'
end
if lastTick ~= '' and not below(lastTick, ARGV[1]) then
  redis.call('DEL', KEYS[2])
  return 'done'
end
redis.call('HSET', KEYS[1], 'fence', ARGV[2])
if ARGV[3] == '1' then redis.call('HSET', KEYS[1], 'tick', ARGV[1]) end
return 'claimed'
