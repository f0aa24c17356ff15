// Each round measures all scenarios, so that a temporarily slow machine affects all of them.
import { setTimeout as sleep } from 'node:timers/promises';
import { Figures } from './figures.mjs';
import { timeOf, timeOfFamily, timeOfMachine } from './processor-time.mjs';

/** Maximum number of measurements of a scenario in a round. */
const MAX_ATTEMPTS = 3;
/** Maximum number of warm-up runs of a scenario. */
const MAX_WARM_UP_RUNS = 8;

/**
 * @typedef {object} Sample
 * @property {number} perSecond responses
 * @property {number} p50 milliseconds, likewise p99
 * @property {number} server milliseconds of processor time per response, likewise postgres
 * @property {number} cacheHits responses from the response cache of the first process, divided by the responses of all
 * @property {number} loadProcess share of a core that the load process used
 * @property {number} others share of the machine that other processes used
 */

/** @returns {Promise<Figures>} one sample of each scenario per round */
export async function measureRounds(scenarios, { rounds, seconds, warmUp }, { cluster, cores, runStep }) {
  await runStep('warm-up', async () => {
    for (const scenario of scenarios) await warm(scenario, warmUp);
  });
  const samples = new Map(scenarios.map(({ name }) => [name, []]));
  for (let round = 1; round <= rounds; round++) {
    // Reverses the order every other round, so that it does not matter.
    const ordered = round % 2 === 1 ? scenarios : [...scenarios].reverse();
    await runStep(`round ${round} of ${rounds}`, async () => {
      for (const scenario of ordered)
        samples.get(scenario.name).push(await sampleSteadily(scenario, seconds, cluster, cores));
    });
  }
  return new Figures(samples);
}

/** Runs until each process of the contender has sent `responses` responses. */
async function warm({ contender, run }, { seconds, responses }) {
  let missing = responses * contender.pids.length;
  for (let turn = 0; missing > 0 && turn < MAX_WARM_UP_RUNS; turn++) missing -= (await run(seconds)).requests;
}

/** Repeats a measurement in which a request was rejected: another program of the machine can stall all of them. */
async function sampleSteadily(scenario, seconds, cluster, cores) {
  for (let attempt = 1; ; attempt++) {
    try {
      return await sample(scenario, seconds, cluster, cores);
    } catch (error) {
      if (attempt === MAX_ATTEMPTS) throw error;
      console.error(`${scenario.name} is measured again: ${error.message.split('\n')[0]}`);
      // The other requests of the failed measurement end.
      await sleep(seconds * 2000);
    }
  }
}

async function sample({ contender, run, countsLoadTime }, seconds, cluster, cores) {
  const readCounters = () => ({
    server: contender.pids.reduce((sum, pid) => sum + timeOf(pid), 0),
    postgres: timeOfFamily(cluster.pid),
    machine: timeOfMachine(),
  });
  const hits = (await contender.readCacheCount?.('hits')) ?? 0;
  const before = readCounters();
  const result = await run(seconds);
  const after = readCounters();
  const hitsSince = ((await contender.readCacheCount?.('hits')) ?? 0) - hits;
  const spent = (label) => after[label] - before[label];
  const { requests, loaderMilliseconds } = result;
  const accounted = spent('server') + spent('postgres') + loaderMilliseconds;
  return {
    perSecond: requests / result.seconds,
    p50: result.p50,
    p99: result.p99,
    server: (spent('server') + (countsLoadTime ? loaderMilliseconds : 0)) / requests,
    postgres: spent('postgres') / requests,
    cacheHits: hitsSince / requests,
    loadProcess: loaderMilliseconds / (result.seconds * 1000),
    others: Math.max(0, spent('machine') - accounted) / (result.seconds * 1000 * cores),
  };
}
