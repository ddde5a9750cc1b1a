-- Takes a process's place among those who wait, or refreshes it. A look at the front ends its reservation: it
-- was not missed. Comes after order.lua.
-- KEYS: those of order.lua
-- ARGV[1] process  ARGV[2] the ticket it was given before, or ''
-- Returns {how many are before it, how many wait, ticket, ms that the turn of the first is reserved for yet}.
local process, old_ticket = ARGV[1], tonumber(ARGV[2])
local now = server_time()
local ticket = tonumber(redis.call('ZSCORE', KEYS[1], process) or nil)
if not ticket then
  local last = tonumber(redis.call('ZRANGE', KEYS[1], -1, -1, 'WITHSCORES')[2] or 0)
  ticket = old_ticket or math.max(last + 1, now)
  redis.call('ZADD', KEYS[1], printed(ticket), process)
end
redis.call('ZADD', KEYS[2], printed(now), process)
redis.call('PEXPIRE', KEYS[1], KEEP_MS)
redis.call('PEXPIRE', KEYS[2], KEEP_MS)
local head, ends = living_head(process, now)
if head == process then
  redis.call('DEL', KEYS[3])
  ends = 0
end
local before = redis.call('ZRANK', KEYS[1], process)
local left = math.max(0, math.ceil((ends - now) / 1000))
return {before, redis.call('ZCARD', KEYS[1]), printed(ticket), left}
