-- A pool and its members. Comes after pool-members.lua.
-- KEYS: those of permits.lua and pool-members.lua
-- ARGV: as ROOM in members-room.lua
-- Returns the number of processes that wait, and then for each member {holders, ms that it rests yet (0: it does not),
-- why it rests or '', why it is out of use or ''}.
redis.call('HDEL', KEYS[5], '@none') -- a read-only replica must fail here, not give a verdict
local now_ms = pool_now()
local known, in_use = read_members(), {}
local answers = {redis.call('ZCOUNT', KEYS[4], '(0', '+inf')}
local live = redis.call('ZRANGEBYSCORE', KEYS[1], '(' .. string.format('%.0f', now_ms), '+inf')
for i = 1, #live do
  local member = string.match(live[i], '^%S+ (.*)$') or ''
  in_use[member] = (in_use[member] or 0) + 1
end
for i = 4, #ARGV do
  local member = ARGV[i]
  local rests, why = member_rests_ms(known, member, tonumber(ARGV[2]), tonumber(ARGV[3]), now_ms)
  answers[#answers + 1] = {in_use[member] or 0, rests, why, known['out:' .. member] or ''}
end
return answers
