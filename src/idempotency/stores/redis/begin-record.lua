-- Notes that the work of an idempotency key begins, guarded by the fence of the key's mark.
-- KEYS[1] the record, a hash of fingerprint, fence and, once finished, answer   KEYS[2] a key that never exists
-- ARGV[1] fingerprint  ARGV[2] fence  ARGV[3] life of the record in ms
-- Returns {'begun'}, {'stale'} (a newer fence has begun) or {'known', fingerprint, fence, answer or ''}.
local function above(a, b) -- decimal strings of any length
  if #a ~= #b then return #a > #b end
  return a > b
end

local known = redis.call('HMGET', KEYS[1], 'fingerprint', 'fence', 'answer')
local fingerprint, fence, answer = known[1], known[2], known[3]
if fence and (not fingerprint or fence:find('[^0-9]')) then
  return redis.error_reply('DOCLOCK the record of this key is none')
end
if fence then
  local reply
  if answer then reply = {'known', fingerprint, fence, answer}
  elseif above(fence, ARGV[2]) then reply = {'stale'}
  elseif fingerprint ~= ARGV[1] then reply = {'known', fingerprint, fence, ''} end
  if reply then
    redis.call('DEL', KEYS[2]) -- a read-only replica must fail here, not give a verdict
    return reply
  end
end
redis.call('HSET', KEYS[1], 'fingerprint', ARGV[1], 'fence', ARGV[2])
redis.call('PEXPIRE', KEYS[1], ARGV[3])
return {'begun'}
