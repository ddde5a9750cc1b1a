-- Shared by the scripts that take locks: what a fence is, and for how long it is kept.
-- KEYS: each function is given the keys it uses.   ARGV: none of its own.
-- Returns nothing: it only defines functions.
-- The fence that a key holds; nil where that is something else.
local function fence_of(value)
  local fence = tonumber(value)
  if fence and fence == math.floor(fence) and fence >= 0 and fence < 9007199254740991 then return fence end
  return nil
end

-- A day longer than the fence itself; absolute, in the server's own time: a clock that was stepped must not
-- outlive its fence.
local function write_fence(key, fence)
  redis.call('SET', key, fence, 'EXAT', math.floor(fence / 1000000) + 86400)
end

-- What was overwritten, as it was: a fence, or something else, which stays until somebody looks.
local function put_back(key, value)
  local fence = fence_of(value)
  if fence then write_fence(key, fence) else redis.call('SET', key, value) end
end
