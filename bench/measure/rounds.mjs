// The rounds: everybody is measured in each, so that a machine that is slow for a minute is so for all of them.
import { Figures } from './figures.mjs';
import { timeOf, timeOfFamily, timeOfMachine } from './processor-time.mjs';

/** Turns of warming up after which we go on in any case. */
const MOST_TURNS = 8;

/**
 * @typedef {object} Sample
 * @property {number} perSecond answers
 * @property {number} p50 milliseconds, likewise p99
 * @property {number} server milliseconds of processor time an answer, likewise postgres
 * @property {number} loader the share of a core that making the load took
 * @property {number} others the share of the machine that had nothing to do with it
 */

/** @returns {Promise<Figures>} with one sample a round of each cell */
export async function measureRounds(cells, { rounds, seconds, warmUp }, { cluster, cores, tell }) {
  await tell('warming up', async () => {
    for (const cell of cells) await warm(cell, warmUp);
  });
  const samples = new Map(cells.map(({ name }) => [name, []]));
  for (let round = 1; round <= rounds; round++) {
    // Whoever comes after whom must not matter.
    const ordered = round % 2 === 1 ? cells : [...cells].reverse();
    await tell(`round ${round} of ${rounds}`, async () => {
      for (const cell of ordered) samples.get(cell.name).push(await sample(cell, seconds, cluster, cores));
    });
  }
  return new Figures(samples);
}

/** Until each process of who is asked has given so many answers. */
async function warm({ contender, run }, { seconds, answers }) {
  let missing = answers * contender.pids.length;
  for (let turn = 0; missing > 0 && turn < MOST_TURNS; turn++) missing -= (await run(seconds)).requests;
}

async function sample({ contender, run, loaderCounts }, seconds, cluster, cores) {
  const look = () => ({
    server: contender.pids.reduce((sum, pid) => sum + timeOf(pid), 0),
    postgres: timeOfFamily(cluster.pid),
    machine: timeOfMachine(),
  });
  const before = look();
  const result = await run(seconds);
  const after = look();
  const spent = (what) => after[what] - before[what];
  const { requests, loaderMilliseconds } = result;
  const known = spent('server') + spent('postgres') + loaderMilliseconds;
  return {
    perSecond: requests / result.seconds,
    p50: result.p50,
    p99: result.p99,
    server: (spent('server') + (loaderCounts ? loaderMilliseconds : 0)) / requests,
    postgres: spent('postgres') / requests,
    loader: loaderMilliseconds / (result.seconds * 1000),
    others: Math.max(0, spent('machine') - known) / (result.seconds * 1000 * cores),
  };
}
