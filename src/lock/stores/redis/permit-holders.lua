-- Who holds permits. Comes after permits.lua.
-- KEYS: those of permits.lua
-- ARGV: none
-- Returns {token, fence, ms that are left, permit} for each, those that end first first.
local now = server_time()
sweep(now)
restore()
local now_ms = math.floor(now / 1000)
local members = redis.call('ZRANGE', KEYS[1], 0, -1)
local holders = {}
for i = 1, #members do
  local token = string.match(members[i], '^(%S*)')
  local holder = read_holder(token)
  if holder then
    holders[#holders + 1] = {token, string.format('%.0f', holder.fence), holder.ends - now_ms, holder.permit}
  end
end
return holders
