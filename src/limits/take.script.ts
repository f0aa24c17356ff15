/**
 * Takes from a counter, all of it or nothing, and gives back what was taken: nobody else is in between, so limits are
 * exact however many ask at once. rate-limiter-flexible runs it in place of its own, which adds first. A window is the
 * life of a key.
 *
 * KEYS: the counter. ARGV: the amount, negative to give back; the window in seconds; the limit.
 * Returns what would be taken by then, which is above the limit exactly when nothing was taken, and the milliseconds
 * until it is forgotten.
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
