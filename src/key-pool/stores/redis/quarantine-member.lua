-- A member is out of use until it is readmitted. Comes after pool-members.lua.
-- KEYS: those of pool-members.lua
-- ARGV[1] member  ARGV[2] why
-- Returns 1, or 0 where it was so already.
if redis.call('HEXISTS', KEYS[5], 'out:' .. ARGV[1]) == 1 then return 0 end
write_member('out:' .. ARGV[1], ARGV[2])
return 1
