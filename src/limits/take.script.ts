import { createHash } from 'node:crypto';

/**
 * Takes from counters, one after another, up to the first of which not enough is left: nobody else is in between, so
 * limits are exact however many ask at once. A window is the life of a key.
 *
 * KEYS: the counters. ARGV: of each the amount, the limit, and the window in milliseconds.
 * Returns of each whether it was taken (1 or 0), what is taken by now, and the milliseconds until it is forgotten.
 */
export const TAKE_SCRIPT = `
local counts = {}
local isRefused = false
for index, key in ipairs(KEYS) do
  local amount = tonumber(ARGV[3 * index - 2])
  local limit = tonumber(ARGV[3 * index - 1])
  local window = tonumber(ARGV[3 * index])
  local taken = tonumber(redis.call('GET', key) or 0)
  isRefused = isRefused or taken + amount > limit
  if not isRefused and amount > 0 then
    taken = redis.call('INCRBY', key, amount)
    if redis.call('PTTL', key) < 0 then redis.call('PEXPIRE', key, window) end
  end
  local left = redis.call('PTTL', key)
  counts[3 * index - 2] = isRefused and 0 or 1
  counts[3 * index - 1] = taken
  counts[3 * index] = left < 0 and window or left
end
return counts
`;

/** By which Redis knows it. */
export const TAKE_SCRIPT_SHA1 = createHash('sha1').update(TAKE_SCRIPT).digest('hex');
