-- Shared by the scripts about the order of those who wait for a lock of Redlock, which is kept on one node:
-- it says who may ask the nodes, and excludes nobody by itself.
-- KEYS[1] who waits: a sorted set process -> ticket (server time in us)
-- KEYS[2] when each looked last: a sorted set process -> server time in us
-- KEYS[3] whose turn is reserved: "<process> <its end, in us>"
-- ARGV: none of its own.
-- Returns nothing: it only defines functions.
local DEAD_US = $DEAD_MS * 1000
local TURN_US = $TURN_MS * 1000
local KEEP_MS = 600000
local CHANNEL = $CHANNEL

local function server_time()
  local time = redis.call('TIME')
  return time[1] * 1000000 + time[2]
end

local function printed(number)
  return string.format('%.0f', number)
end

local function write_turn(process, ends)
  redis.call('SET', KEYS[3], process .. ' ' .. printed(ends), 'PX', KEEP_MS)
end

-- Whose turn is reserved, and until when. Never for longer than a turn from now, whatever the clock did.
local function reserved_turn(now)
  local process, ends = string.match(redis.call('GET', KEYS[3]) or '', '^(%S+) (%d+)$')
  if not process then return nil, 0 end
  ends = tonumber(ends)
  if ends <= now + TURN_US then return process, ends end
  write_turn(process, now + TURN_US)
  return process, now + TURN_US
end

local function take_out(process)
  redis.call('ZREM', KEYS[1], process)
  redis.call('ZREM', KEYS[2], process)
end

-- The first of those who wait, and until when its turn is reserved (0: not). Those before it that are dead or
-- have missed their turn are taken out; whoever is asking lives.
local function living_head(asking, now)
  local turn_of, turn_ends = reserved_turn(now)
  while true do
    local head = redis.call('ZRANGE', KEYS[1], 0, 0)[1]
    if not head then
      redis.call('DEL', KEYS[1], KEYS[2], KEYS[3])
      return nil, 0
    end
    local seen = tonumber(redis.call('ZSCORE', KEYS[2], head) or 0)
    local missed = turn_of == head and turn_ends < now
    if head == asking or not (missed or seen <= now - DEAD_US) then
      return head, turn_of == head and turn_ends or 0
    end
    take_out(head)
  end
end

-- Reserves the head's turn unless that is done, wakes it, and has the one behind it look after it. Returns how
-- long the turn lasts yet, in ms. Comes last in a script: without rights on the channel it fails.
local function reserve(head, ends, now, lock)
  if ends >= now then return math.ceil((ends - now) / 1000) end
  write_turn(head, now + TURN_US)
  redis.pcall('PUBLISH', CHANNEL .. head, '+' .. lock)
  local standby = redis.call('ZRANGE', KEYS[1], 1, 1)[1]
  if standby then redis.pcall('PUBLISH', CHANNEL .. standby, '?' .. lock) end
  return TURN_US / 1000
end
