/**
 * Takes an amount from a counter, all of it or nothing, or returns it. Redis runs it atomically, so limits are exact under
 * concurrent requests. rate-limiter-flexible runs it instead of its own script, which adds first. A window is the
 * lifetime of a key.
 *
 * KEYS: the counter. ARGV: the amount, negative to return it; the window in seconds; the limit.
 * Returns the sum, which is above the limit exactly if nothing was taken, and the milliseconds until the window ends.
 */
export const TAKE_SCRIPT = `
local taken = tonumber(redis.call('GET', KEYS[1]) or 0)
local after = taken + tonumber(ARGV[1])
local window = 1000 * ARGV[2]
if after ~= taken and after >= 0 and after <= tonumber(ARGV[3]) then
  redis.call('INCRBY', KEYS[1], ARGV[1])
  if redis.call('PTTL', KEYS[1]) < 0 then redis.call('PEXPIRE', KEYS[1], window) end
end
local left = redis.call('PTTL', KEYS[1])
return {after, left < 0 and window or left}
`;
