// Computes from the figures what several machines need.
import { digits, table } from './numbers.mjs';

const RATES = [1_000, 10_000, 100_000];
/** Planned utilization of a core; the rest is for bursts. */
const PLANNED = 0.6;
const SHARES = [0, 0.9];
/** Cores of one PostgreSQL server. */
const SERVER_CORES = 16;
const PEOPLE = 10_000_000;

/**
 * @param {import('../measure/figures.mjs').Figures} figures
 * @param {{ people: number, bytes: number, memory: { max: number } }} directorySize size of the measured directory, and memory of a process
 */
export function describeScale(figures, { people, bytes, memory }) {
  const uncached = figures.of('service/members');
  const cached = figures.of('service/members/cached');
  const rows = RATES.flatMap((rate) =>
    SHARES.map((share) => {
      const own = rate * ((1 - share) * uncached.server + share * cached.server);
      const postgres = rate * ((1 - share) * uncached.postgres + share * cached.postgres);
      return rowFor(rate, share, coresFor(own), coresFor(postgres), memory);
    }),
  );
  const times = PEOPLE / people;
  return [
    `A replica is one process with a core of its own. Q1 costs ${digits(uncached.server)} ms of processor time, and ` +
      `${digits(cached.server)} ms when cached; PostgreSQL ${digits(uncached.postgres)} and ${digits(cached.postgres)} ms. Planned with ${PLANNED * 100} % of each core, ` +
      `and ${SERVER_CORES} cores per PostgreSQL server:`,
    table(
      ['Q1 per second', 'of them cached', 'replicas', 'memory', 'PostgreSQL cores', 'PostgreSQL servers'],
      rows,
    ),
    `The mirror of ${people.toLocaleString('en-GB')} users takes ${digits(bytes / 2 ** 30)} GB in PostgreSQL, indexes included; ${PEOPLE.toLocaleString('en-GB')} users with as many ` +
      `groups each take ${digits((bytes * times) / 2 ** 30)} GB. A page reads one range of one index, whose depth grows with the logarithm of its rows: so the cost of a page hardly ` +
      `depends on the number of memberships while the indexes are in memory (see the goal for ten times as many). ` +
      `The first synchronization grows with the directory: see \`npm run bench:load\`.`,
  ].join('\n\n');
}

const coresFor = (millisecondsASecond) => millisecondsASecond / 1000 / PLANNED;

function rowFor(rate, share, own, postgres, { max }) {
  const replicas = Math.max(2, Math.ceil(own));
  const servers = Math.ceil(postgres / SERVER_CORES);
  return [
    rate.toLocaleString('en-GB'),
    `${share * 100} %`,
    `${replicas}`,
    `${digits((replicas * max) / 1024)} GB`,
    digits(postgres),
    servers <= 1 ? '1' : `1 and ${servers - 1} read replicas`,
  ];
}
