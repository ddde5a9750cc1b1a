-- Numbers that may be longer than what a number of Lua holds exactly: fences, as decimal strings.
-- KEYS, ARGV: none of its own.
-- Returns nothing: it only defines functions.
local function is_decimal(text)
  return type(text) == 'string' and text:find('^[0-9]+$') ~= nil
end

-- Of two decimals without leading zeros.
local function below(a, b)
  if #a ~= #b then return #a < #b end
  return a < b
end
