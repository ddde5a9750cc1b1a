-- Shared by the scripts that pass a lock on: who is next, and whose turn is reserved.
-- KEYS: each function is given the keys it uses.   ARGV: none of its own.
-- Returns nothing: it only defines functions.
--
-- The queue is a hash: process -> "<ticket> <when it last asked, in us>", and
-- "@turn" -> "<process> <end of its reservation, in us>". It is gone when nobody waits.
-- Numbers given to redis.call are printed with 17 digits, so microseconds keep all of theirs.
local DEAD_US = $DEAD_MS * 1000
local TURN_US = $TURN_MS * 1000
local KEEP_MS = 600000
local CHANNEL = $CHANNEL

local function server_time()
  local time = redis.call('TIME')
  return time[1] * 1000000 + time[2]
end

-- The processes in line: {process, ticket, seen} in the order of their tickets, and the turn.
local function read_line(queue)
  local fields = redis.call('HGETALL', queue)
  local line, turn_of, turn_ends = {}, nil, 0
  for i = 1, #fields, 2 do
    local first, second = string.match(fields[i + 1], '^(%S+) (%d+)$')
    if fields[i] == '@turn' then
      turn_of, turn_ends = first, tonumber(second) or 0
    else
      line[#line + 1] = {fields[i], tonumber(first) or 0, tonumber(second) or 0}
    end
  end
  table.sort(line, function(a, b) return a[2] < b[2] end)
  return line, turn_of, turn_ends
end

-- The place in the line, taken or refreshed; a process that was taken out comes back with its old ticket.
-- Returns the ticket and the length of the line.
local function stand_in_line(queue, asking, old_ticket, now)
  local line = read_line(queue)
  local ticket, newest, length = nil, 0, #line
  for i = 1, #line do
    if line[i][1] == asking then ticket = line[i][2] end
    newest = line[i][2]
  end
  if not ticket then
    ticket = tonumber(old_ticket) or math.max(newest + 1, now)
    length = length + 1
  end
  local printed = string.format('%.0f', ticket)
  redis.call('HSET', queue, asking, printed .. ' ' .. string.format('%.0f', now))
  redis.call('PEXPIRE', queue, KEEP_MS)
  return printed, length
end

-- The line without those at its front that are dead or have missed their turn: they are taken out.
-- Whoever is asking lives. Returns the living line, and until when the turn of its head is reserved (0: not).
local function living_line(queue, asking, now)
  local line, turn_of, turn_ends = read_line(queue)
  while #line > 0 do
    local head = line[1][1]
    local missed = turn_of == head and turn_ends < now
    local dead = line[1][3] <= now - DEAD_US
    if head == asking or not (missed or dead) then
      return line, turn_of == head and turn_ends or 0
    end
    redis.call('HDEL', queue, head)
    table.remove(line, 1)
  end
  redis.call('DEL', queue)
  return line, 0
end

-- Reserves the turn of the head of the line, unless that is done. Returns how long the reservation
-- lasts yet, in ms, and whether it is new.
local function reserve(queue, line, ends, now)
  if ends >= now then return math.ceil((ends - now) / 1000), false end
  redis.call('HSET', queue, '@turn', line[1][1] .. ' ' .. string.format('%.0f', now + TURN_US))
  return TURN_US / 1000, true
end

-- Tells the head that it is its turn (unless it is asking itself), and the next one to look whether the
-- head took it. Comes last in a script: without rights on the channel it fails, and nothing must be
-- undone then.
local function wake(line, lock, asking)
  if line[1][1] ~= asking then redis.pcall('PUBLISH', CHANNEL .. line[1][1], '+' .. lock) end
  if line[2] then redis.pcall('PUBLISH', CHANNEL .. line[2][1], '?' .. lock) end
end
