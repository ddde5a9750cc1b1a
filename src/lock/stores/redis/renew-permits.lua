-- Renews permits of one name, each by itself. Never shortens a life. Comes after permits.lua.
-- KEYS: those of permits.lua
-- ARGV[2i-1] token  ARGV[2i] TTL in ms
-- Returns per token 1 (renewed) or 0 (not held).
local now = server_time()
sweep(now)
restore()
local now_ms = math.floor(now / 1000)
local outcomes = {}
for i = 1, #ARGV / 2 do
  local holder = read_holder(ARGV[2 * i - 1])
  outcomes[i] = 0
  if holder and holder.ends > now_ms then
    holder.ends = math.max(holder.ends, now_ms + tonumber(ARGV[2 * i]))
    write_holder(ARGV[2 * i - 1], holder)
    outcomes[i] = 1
  end
end
expire_with_last()
return outcomes
