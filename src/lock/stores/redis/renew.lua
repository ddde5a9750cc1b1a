-- Renews a batch of locks. Each stands alone: an error of one is its own outcome. Never shortens a life.
-- KEYS[2i-1] lock   KEYS[2i] queue
-- ARGV[2i-1] token  ARGV[2i] TTL in ms
-- Returns per lock 1 (renewed), 0 (not owner), 2 (revoked) or the error's text (no verdict).
local outcomes = {}

local function failed(reply)
  return type(reply) == 'table' and reply.err
end

for i = 1, #KEYS / 2 do
  local lock, queue, token, ttl = KEYS[2 * i - 1], KEYS[2 * i], ARGV[2 * i - 1], ARGV[2 * i]
  local holder = redis.pcall('GET', lock)
  if failed(holder) then
    outcomes[i] = holder.err
  elseif holder ~= token then
    local written = redis.pcall('HDEL', queue, '@none') -- a read-only replica has no verdict
    outcomes[i] = failed(written) or (holder == 'revoked.' .. token and 2) or 0
  else
    local left = redis.pcall('PTTL', lock)
    local renewed = left
    if not failed(left) and left >= 0 and left < tonumber(ttl) then
      renewed = redis.pcall('PEXPIRE', lock, ttl)
    elseif not failed(left) then
      renewed = redis.pcall('HDEL', queue, '@none')
    end
    outcomes[i] = failed(renewed) or 1
  end
end
return outcomes
