-- Shared by the scripts that pass a lock on: who waits, in which order, and for whom a free lock is reserved.
-- KEYS: each function is given the keys it uses.   ARGV: none of its own.
-- Returns nothing: it only defines functions.
--
-- The queue is one sorted set, which is gone when nobody waits. A waiting process has two members:
--   "<process>"          its ticket, in us: whoever has the lowest is the head
--   "@awake <process>"   minus the time, in us, after which it is dead unless it has asked again
-- and a reservation is one more, with score 0: "@reserved <process> <end, in us>". No function reads all of it.
-- Numbers given to redis.call are printed with 17 digits, so microseconds keep all of theirs.
local SAFETY_MS, LOOK_STEP_MS, MAX_LOOK_MS = $SAFETY_MS, $LOOK_STEP_MS, $MAX_LOOK_MS
local DEAD_LOOKS = $DEAD_LOOKS
local TURN_US = $TURN_MS * 1000
local KEEP_MS = 600000
local MAX_REMOVED = 64 -- of the dead at the front, by one script
local MAX_SWEPT = 2    -- of the dead anywhere, by each look
local CHANNEL = $CHANNEL

local function server_time()
  local time = redis.call('TIME')
  return time[1] * 1000000 + time[2]
end

-- How many processes wait.
local function queue_length(queue)
  return redis.call('ZCOUNT', queue, '(0', '+inf')
end

-- The ticket of whoever comes now. Never below one that was given, whatever the clock did.
local function newcomer_ticket(queue, now)
  local last = redis.call('ZRANGE', queue, 0, 0, 'REV', 'WITHSCORES')
  return math.max((tonumber(last[2]) or 0) + 1, now)
end

-- How many processes are ahead of this one; of all where it neither stands in the queue nor has a ticket.
local function count_ahead(queue, process, ticket)
  local standing = process and redis.call('ZSCORE', queue, process)
  local at = math.max(tonumber(standing or 0), tonumber(ticket or '') or 0)
  if at == 0 then return queue_length(queue) end
  return redis.call('ZCOUNT', queue, '(0', '(' .. string.format('%.0f', at))
end

local function remove_place(queue, process)
  redis.call('ZREM', queue, process, '@awake ' .. process)
end

-- Takes, keeps or moves the process's place. A ticket that it brings counts only where it is later than the one
-- that it stands with (its front waiter has gone), or it stands nowhere (it was taken out).
-- Returns the ticket, the length of the queue, a newcomer's ticket, the process's position (0: the head), and how
-- long it may be silent now, in ms.
local function stand(queue, process, ticket, now)
  local newcomer = newcomer_ticket(queue, now)
  local standing = tonumber(redis.call('ZSCORE', queue, process) or nil)
  local brought = tonumber(ticket)
  if brought and (brought <= 0 or brought > newcomer) then brought = newcomer end
  local at = standing and math.max(standing, brought or 0) or brought or newcomer
  if at ~= standing then redis.call('ZADD', queue, at, process) end
  local others = redis.call('ZCOUNT', queue, '-inf', 0)
  local length = redis.call('ZCARD', queue) - others
  local position = redis.call('ZRANK', queue, process) - others
  local look_ms = SAFETY_MS
  if position > 1 then look_ms = math.min(math.max(SAFETY_MS, position * LOOK_STEP_MS), MAX_LOOK_MS) end
  redis.call('ZADD', queue, -(now + DEAD_LOOKS * look_ms * 1000), '@awake ' .. process)
  redis.call('PEXPIRE', queue, KEEP_MS)
  local late = redis.call('ZRANGE', queue, -now, '(0', 'BYSCORE', 'LIMIT', 0, MAX_SWEPT)
  for i = 1, #late do remove_place(queue, string.sub(late[i], 8)) end
  return at, length, newcomer, position, look_ms
end

-- For whom the lock is reserved, and until when.
local function read_reservation(queue)
  local member = redis.call('ZRANGE', queue, 0, 0, 'BYSCORE')[1]
  if not member then return nil, 0 end
  local process, ends = string.match(member, '^@reserved (%S+) (%d+)$')
  return process, tonumber(ends) or 0
end

local function forget_reservation(queue)
  local member = redis.call('ZRANGE', queue, 0, 0, 'BYSCORE')[1]
  if member then redis.call('ZREM', queue, member) end
end

local function write_reservation(queue, process, ends)
  forget_reservation(queue)
  redis.call('ZADD', queue, 0, '@reserved ' .. process .. ' ' .. string.format('%.0f', ends))
end

-- Takes a process out of the queue, and with it a reservation that it may have.
local function leave_queue(queue, process)
  if read_reservation(queue) == process then forget_reservation(queue) end
  remove_place(queue, process)
end

-- The process was granted what it waited for: its place is now that of its next waiter, or gone. Returns how long
-- it may be silent in that place, in ms; -1: it has none.
local function move_on(queue, process, next_ticket, now)
  if not next_ticket or next_ticket == '' then
    leave_queue(queue, process)
    return -1
  end
  if read_reservation(queue) == process then forget_reservation(queue) end
  local _, _, _, _, look_ms = stand(queue, process, next_ticket, now)
  return look_ms
end

-- The head of the queue and the one behind it, those before them taken out that are dead or have missed their
-- reservation. Whoever is asking lives. The third is until when the lock is reserved for the head (0: it is not).
local function living_head(queue, asking, now)
  for removed = 0, MAX_REMOVED do
    local front = redis.call('ZRANGE', queue, '(0', '+inf', 'BYSCORE', 'LIMIT', 0, 2)
    local head = front[1]
    if not head then
      redis.call('DEL', queue)
      return nil
    end
    local reserved_for, ends = read_reservation(queue)
    if reserved_for ~= head then
      ends = 0
    elseif ends > now + TURN_US then -- the clock was set back: no reservation ends later than one from now
      ends = now + TURN_US
      write_reservation(queue, head, ends)
    end
    local awake_until = tonumber(redis.call('ZSCORE', queue, '@awake ' .. head) or nil)
    local dead = not awake_until or -awake_until < now
    local missed = ends > 0 and ends < now
    if head == asking or removed == MAX_REMOVED or not (missed or dead) then return head, front[2], ends end
    remove_place(queue, head)
  end
end

-- Reserves the lock for the head, unless that is done. Returns how long the reservation lasts yet, in ms, and
-- whether it is new.
local function reserve(queue, head, ends, now)
  if ends >= now then return math.ceil((ends - now) / 1000), false end
  write_reservation(queue, head, now + TURN_US)
  return TURN_US / 1000, true
end

-- Tells the head that the lock is reserved for it (unless it is asking itself), and the one behind it to look
-- whether the head took it. Comes last in a script: without rights on the channel it fails, and nothing must be
-- undone then.
local function wake(head, standby, lock, asking)
  if head ~= asking then redis.pcall('PUBLISH', CHANNEL .. head, '+' .. lock) end
  if standby then redis.pcall('PUBLISH', CHANNEL .. standby, '?' .. lock) end
end

-- The head looks often, and the one behind it must as well, should the head die. Comes last in a script, as wake.
local function keep_standby_awake(queue, lock, now)
  local standby = redis.call('ZRANGE', queue, '(0', '+inf', 'BYSCORE', 'LIMIT', 1, 1)[1]
  local awake_until = standby and tonumber(redis.call('ZSCORE', queue, '@awake ' .. standby) or nil)
  if awake_until and -awake_until > now + DEAD_LOOKS * SAFETY_MS * 1000 then wake(nil, standby, lock, nil) end
end
