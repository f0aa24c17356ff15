// Each round measures all scenarios, so that a machine that is slow for a while affects all of them.
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { runStep, timeOf, timeOfFamily } from './processes.mjs';

/** Measurements of a scenario in a round until one succeeds: another program of the machine can stall all requests. */
const MAX_ATTEMPTS = 3;

/** A round measures each scenario for some seconds. A process is warm after some thousand responses. */
export const FULL = { rounds: 5, seconds: 4, warmUp: 4 };
export const QUICK = { rounds: 3, seconds: 0.6, warmUp: 1 };

export function median(values) {
  const sorted = [...values].sort((left, right) => left - right);
  const middle = Math.floor(sorted.length / 2);
  return sorted.length % 2 === 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
}

/** @throws Error with the known options, for others */
export function readOptions(options) {
  try {
    return parseArgs({ options, allowPositionals: true });
  } catch (cause) {
    throw new Error(`${cause.message}. The options are --${Object.keys(options).join(', --')}`, { cause });
  }
}

/** @typedef {{ perSecond: number, p50: number, p99: number, server: number, postgres: number }} Sample times in milliseconds */

export class Figures {
  #samples;

  /** @param {Map<string, Sample[]>} samples of each scenario, one of each round */
  constructor(samples) {
    this.#samples = samples;
  }

  get names() {
    return [...this.#samples.keys()];
  }

  /** The median of each figure of a scenario. */
  of(name) {
    const samples = this.#samples.get(name);
    const keys = Object.keys(samples[0]);
    return Object.fromEntries(keys.map((key) => [key, median(samples.map((sample) => sample[key]))]));
  }

  /** The responses of two scenarios: the median of the ratios within the rounds, because other load on the machine affects both. */
  compare(name, other) {
    const others = this.#samples.get(other);
    return median(this.#samples.get(name).map(({ perSecond }, round) => perSecond / others[round].perSecond));
  }
}

/**
 * @param scenarios name; run: sends requests for some seconds; pids: those who answer; isClient: the load process works, too
 * @param postgres process id of the database server, or null
 * @returns {Promise<Figures>}
 */
export async function measureRounds(scenarios, { rounds, seconds, warmUp }, postgres = null) {
  await runStep('warm-up', async () => {
    for (const { run } of scenarios) await run(warmUp);
  });
  const samples = new Map(scenarios.map(({ name }) => [name, []]));
  for (let round = 1; round <= rounds; round++) {
    // Every other round has the reverse order, so that the order does not matter.
    const ordered = round % 2 === 1 ? scenarios : [...scenarios].reverse();
    await runStep(`round ${round} of ${rounds}`, async () => {
      for (const scenario of ordered)
        samples.get(scenario.name).push(await sampleSteadily(scenario, seconds, postgres));
    });
  }
  return new Figures(samples);
}

async function sampleSteadily(scenario, seconds, postgres) {
  for (let attempt = 1; ; attempt++) {
    try {
      return await sample(scenario, seconds, postgres);
    } catch (error) {
      if (attempt === MAX_ATTEMPTS) throw error;
      console.error(`${scenario.name} is measured again: ${error.message.split('\n')[0]}`);
      // The other requests of the failed measurement end.
      await sleep(seconds * 2000);
    }
  }
}

/** @returns {Promise<Sample>} */
async function sample({ run, pids, isClient = false }, seconds, postgres) {
  const readTimes = () => ({
    server: pids.reduce((sum, pid) => sum + timeOf(pid), 0),
    postgres: postgres === null ? 0 : timeOfFamily(postgres),
  });
  const before = readTimes();
  const result = await run(seconds);
  const after = readTimes();
  const { requests, p50, p99 } = result;
  const client = isClient ? result.ownMilliseconds : 0;
  return {
    perSecond: requests / result.seconds,
    ...{ p50, p99 },
    server: (after.server - before.server + client) / requests,
    postgres: (after.postgres - before.postgres) / requests,
  };
}
