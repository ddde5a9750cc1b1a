-- Shared by the scripts that pass a lock on: who is next, and whose turn is reserved.
-- KEYS: each function is given the keys it uses.   ARGV: none of its own.
-- Returns nothing: it only defines functions.
--
-- queue: sorted set of processes by ticket.  seen: hash of process -> when it last asked, in us.
-- turn:  "<process> <end of its reservation in us>".
-- Numbers given to redis.call are printed with 17 digits, so microseconds keep all of theirs.
local DEAD_US = $DEAD_MS * 1000
local TURN_US = $TURN_MS * 1000
local KEEP_MS = 600000

local function server_time()
  local time = redis.call('TIME')
  return tonumber(time[1]) * 1000000 + tonumber(time[2])
end

-- The process whose turn a reservation is, and until when.
local function read_turn(turn)
  local value = redis.call('GET', turn)
  if not value then return nil, 0 end
  local process, ends = string.match(value, '^(%S+) (%d+)$')
  return process, tonumber(ends) or 0
end

local function take_out(queue, seen, process)
  redis.call('ZREM', queue, process)
  redis.call('HDEL', seen, process)
end

-- The first in the queue that lives and has not missed its turn; the others before it are taken out.
-- Whoever is asking lives.
local function first_in_line(queue, seen, turn, asking, now)
  while true do
    local head = redis.call('ZRANGE', queue, 0, 0)[1]
    if not head or head == asking then return head end
    local last_seen = tonumber(redis.call('HGET', seen, head) or '') or 0
    local turn_of, ends = read_turn(turn)
    local missed = turn_of == head and ends < now
    if not missed and last_seen > now - DEAD_US then return head end
    take_out(queue, seen, head)
  end
end

-- Reserves the turn of `head`, unless that is done already. Returns the ms that the reservation lasts
-- yet, and whether it is new.
local function reserve(turn, head, now)
  local turn_of, ends = read_turn(turn)
  if turn_of == head and ends >= now then return math.ceil((ends - now) / 1000), false end
  redis.call('SET', turn, head .. ' ' .. string.format('%.0f', now + TURN_US), 'PX', KEEP_MS)
  return TURN_US / 1000, true
end

-- Tells the head that it is its turn, and the next one to look whether the head took it.
-- Comes last in a script: without rights on the channel it fails, and nothing must be undone then.
local function wake(queue, channel, lock, head, asking)
  if head ~= asking then redis.pcall('PUBLISH', channel .. head, lock) end
  local standby = redis.call('ZRANGE', queue, 1, 1)[1]
  if standby then redis.pcall('PUBLISH', channel .. standby, '?' .. lock) end
end
