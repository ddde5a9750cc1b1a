-- Renews a batch of locks. Each stands alone: an error of one is its own outcome. Never shortens a life.
-- One key per lock, so that a cluster renews it also while its slot is moved to another server, which
-- refuses scripts that miss one of their keys.
-- KEYS[i] lock
-- ARGV[2i-1] token  ARGV[2i] TTL in ms
-- Returns per lock 1 (renewed), 0 (not owner), 2 (revoked) or the error's text (no verdict).
local outcomes = {}

local function failed(reply)
  return type(reply) == 'table' and reply.err
end

-- Changes nothing, and fails on a read-only replica, which must not give a verdict.
local function write_nothing(lock, exists)
  return exists and redis.pcall('RENAMENX', lock, lock) or redis.pcall('DEL', lock)
end

for i = 1, #KEYS do
  local lock, token, ttl = KEYS[i], ARGV[2 * i - 1], ARGV[2 * i]
  local holder = redis.pcall('GET', lock)
  if failed(holder) then
    outcomes[i] = holder.err
  elseif holder ~= token then
    local written = write_nothing(lock, holder)
    outcomes[i] = failed(written) or (holder == 'revoked.' .. token and 2) or 0
  else
    local left = redis.pcall('PTTL', lock)
    local renewed = left
    if not failed(left) and left >= 0 and left < tonumber(ttl) then
      renewed = redis.pcall('PEXPIRE', lock, ttl)
    elseif not failed(left) then
      renewed = write_nothing(lock, true)
    end
    outcomes[i] = failed(renewed) or 1
  end
end
return outcomes
