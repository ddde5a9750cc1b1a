-- The rule of a pool: the member that was used least recently, of those that have room, do not rest and are in
-- use. A rule as count-room.lua explains; comes after permits.lua and pool-members.lua.
-- KEYS: those of permits.lua and pool-members.lua
-- ARGV: in ROOM: [1] how many may hold one member  [2] requests and [3] tokens per minute and member (0: no
--   limit)  [4...] members
-- Returns nothing: it only defines functions.
local function choose(now)
  local now_ms = math.floor(now / 1000)
  local known, in_use = read_members(), {}
  local held = held_permits(now)
  for i = 1, #held do in_use[held[i]] = (in_use[held[i]] or 0) + 1 end
  local best, best_last
  local free = 0
  local returns, may_let_go = -1, false
  for i = 4, #ROOM do
    local member = ROOM[i]
    if not known['out:' .. member] then
      local rests = member_rests_ms(known, member, tonumber(ROOM[2]), tonumber(ROOM[3]), now_ms)
      if rests > 0 then
        if returns < 0 or rests < returns then returns = rests end
      else
        may_let_go = true
        local last = tonumber(known['last:' .. member]) or 0
        local left = tonumber(ROOM[1]) - (in_use[member] or 0)
        if left > 0 then free = free + left end
        if left > 0 and (not best or last < best_last) then best, best_last = member, last end
      end
    end
  end
  if best then return best, free end
  if may_let_go then return nil, returns, -1 end
  if returns < 0 then return nil, -1, -2 end
  return nil, returns, returns
end

local function granted(member, now)
  write_member('last:' .. member, string.format('%.0f', now))
  if ROOM[2] ~= '0' or ROOM[3] ~= '0' then
    add_use(member, redis.call('HGET', KEYS[5], 'use:' .. member), math.floor(now / 1000), 1, 0)
  end
end
