-- Shared by the scripts about a pool's members.
-- KEYS[5] what is known of members: a hash with, for each, "last:<m>" when it was granted last (us),
--   "rest:<m>" until when it rests (ms), "out:<m>" why it is out of use, and "use:<m>" what it used in the
--   last minute: "<slot>:<requests>:<tokens>" of every slot of $SLOT_MS ms
-- ARGV: none of its own.
-- Returns nothing: it only defines functions. Times are the server's.
local SLOT_MS, MINUTE_MS = $SLOT_MS, $MINUTE_MS
local KEEP_MEMBERS_MS = 40 * 86400000

local function pool_now()
  local time = redis.call('TIME')
  return time[1] * 1000 + math.floor(time[2] / 1000)
end

local function read_members()
  local fields = redis.call('HGETALL', KEYS[5])
  local known = {}
  for i = 1, #fields, 2 do known[fields[i]] = fields[i + 1] end
  return known
end

-- That a member is out of use is known until somebody says otherwise; all else only as long as the pool is used.
local function keep_members()
  for _, field in ipairs(redis.call('HKEYS', KEYS[5])) do
    if string.sub(field, 1, 4) == 'out:' then return redis.call('PERSIST', KEYS[5]) end
  end
  redis.call('PEXPIRE', KEYS[5], KEEP_MEMBERS_MS)
end

local function write_member(field, value)
  redis.call('HSET', KEYS[5], field, value)
  keep_members()
end

-- The slots that may yet be in the last minute, oldest first: {slot, requests, tokens}.
local function read_use(text, now_ms)
  local first = math.floor((now_ms - MINUTE_MS) / SLOT_MS)
  local slots = {}
  for slot, requests, tokens in string.gmatch(text or '', '(%d+):(%d+):(%d+)') do
    if tonumber(slot) >= first then
      slots[#slots + 1] = {tonumber(slot), tonumber(requests), tonumber(tokens)}
    end
  end
  return slots
end

local function add_use(member, text, now_ms, requests, tokens)
  local slots = read_use(text, now_ms)
  local slot = math.floor(now_ms / SLOT_MS)
  local last = slots[#slots]
  if not last or last[1] < slot then
    last = {slot, 0, 0}
    slots[#slots + 1] = last
  end
  last[2] = last[2] + requests
  last[3] = last[3] + tokens
  local printed = {}
  for i = 1, #slots do printed[i] = string.format('%.0f:%.0f:%.0f', slots[i][1], slots[i][2], slots[i][3]) end
  write_member('use:' .. member, table.concat(printed, ' '))
end

-- In how many ms less than the limit is in the minute: part 2 are requests, 3 tokens. 0: now.
local function use_returns_ms(slots, part, limit, now_ms)
  if limit == 0 then return 0 end
  local sum, returns = 0, 0
  for i = 1, #slots do sum = sum + slots[i][part] end
  for i = 1, #slots do
    if sum < limit then break end
    sum = sum - slots[i][part]
    returns = (slots[i][1] + 1) * SLOT_MS + MINUTE_MS - now_ms
  end
  return returns
end

-- How long a member rests yet, in ms, and which reason lasts longest (told, requests, tokens); 0 and '': it does
-- not rest.
local function member_rests_ms(known, member, requests_limit, tokens_limit, now_ms)
  local slots = read_use(known['use:' .. member], now_ms)
  local rests, why = 0, ''
  local function consider(ms, reason)
    if ms > rests then rests, why = ms, reason end
  end
  consider((tonumber(known['rest:' .. member]) or 0) - now_ms, 'told')
  consider(use_returns_ms(slots, 2, requests_limit, now_ms), 'requests')
  consider(use_returns_ms(slots, 3, tokens_limit, now_ms), 'tokens')
  return rests, why
end
