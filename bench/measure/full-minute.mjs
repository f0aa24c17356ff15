// Whether cached responses survive a full minute, when the signed URLs in them are renewed.
import { setTimeout as sleep } from 'node:timers/promises';

const MINUTE_MS = 60_000;
/** Requests begin this long before a full minute, and end as long after it. */
const MARGIN_MS = 2_000;
const SECONDS = (2 * MARGIN_MS) / 1000;

/** @returns how many of the responses around a full minute were read from the database, in percent */
export async function measureFullMinute({ contender, run }) {
  await run(SECONDS);
  await sleep((2 * MINUTE_MS - MARGIN_MS - (Date.now() % MINUTE_MS)) % MINUTE_MS);
  const before = await contender.readCacheCount('misses');
  const { requests } = await run(SECONDS);
  return (100 * ((await contender.readCacheCount('misses')) - before)) / requests;
}
