// How many cached responses all processes of a service send, compared with one.
import { median } from '../measure/statistics.mjs';
import { CONNECTIONS } from '../options.mjs';

const ROUNDS = 5;
const SECONDS = 3;

/** @param runs {{ one: Function, all: Function }} send cached requests to a service with one process, and with one for each core */
export async function measureWorkers(runs) {
  const perSecond = async (run) => {
    const { requests, seconds } = await run({ seconds: SECONDS, connections: CONNECTIONS, rate: null });
    return requests / seconds;
  };
  for (const run of Object.values(runs)) await perSecond(run);
  const rounds = [];
  for (let round = 0; round < ROUNDS; round++)
    rounds.push({ one: await perSecond(runs.one), all: await perSecond(runs.all) });
  return {
    one: median(rounds.map(({ one }) => one)),
    all: median(rounds.map(({ all }) => all)),
    ratio: median(rounds.map(({ one, all }) => all / one)),
  };
}
