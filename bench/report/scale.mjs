// What the figures say about more than one machine. Nothing is measured here: it is arithmetic on what was.
import { digits, table } from './numbers.mjs';

const RATES = [1_000, 10_000, 100_000];
/** Share of a core that is planned with: the rest is for what comes all at once. */
const PLANNED = 0.6;
const SHARES = [0, 0.9];
/** Cores of one PostgreSQL server. */
const SERVER_CORES = 16;
const PEOPLE = 10_000_000;

/**
 * @param {import('../measure/figures.mjs').Figures} figures
 * @param {{ people: number, bytes: number, memory: { most: number } }} facts of the directory that was measured
 */
export function describeScale(figures, { people, bytes, memory }) {
  const anew = figures.of('service/members');
  const again = figures.of('service/members/again');
  const rows = RATES.flatMap((rate) =>
    SHARES.map((share) => {
      const own = rate * ((1 - share) * anew.server + share * again.server);
      const postgres = rate * ((1 - share) * anew.postgres + share * again.postgres);
      return rowFor(rate, share, coresFor(own), coresFor(postgres), memory);
    }),
  );
  const times = PEOPLE / people;
  return [
    `A replica is one process and has one core to itself: Node.js runs JavaScript on one. Q1 costs it ${digits(anew.server)} ms of processor time, and ` +
      `${digits(again.server)} ms when asked again; PostgreSQL ${digits(anew.postgres)} and ${digits(again.postgres)} ms. Planned with ${PLANNED * 100} % of each core, ` +
      `and ${SERVER_CORES} cores a PostgreSQL server:`,
    table(
      [
        'Q1 a second',
        'of them asked again',
        'replicas',
        'their memory',
        'PostgreSQL cores',
        'PostgreSQL servers',
      ],
      rows,
    ),
    `The mirror of ${people.toLocaleString('en-GB')} people takes ${digits(bytes / 2 ** 30)} GB in PostgreSQL, indexes included; ${PEOPLE.toLocaleString('en-GB')} people with as many ` +
      `groups each take ${digits((bytes * times) / 2 ** 30)} GB. A page reads one range of one index, whose depth grows with the logarithm of its rows: a server that holds the ` +
      `indexes in memory answers a page as it does here, and one of more memberships only has more of it (the goals above have the figure for ten times as many). ` +
      `What grows with the directory is reading it as a whole, at the first start: see \`npm run bench:load\`.`,
  ].join('\n\n');
}

const coresFor = (millisecondsASecond) => millisecondsASecond / 1000 / PLANNED;

function rowFor(rate, share, own, postgres, { most }) {
  const replicas = Math.max(2, Math.ceil(own));
  const servers = Math.ceil(postgres / SERVER_CORES);
  return [
    rate.toLocaleString('en-GB'),
    `${share * 100} %`,
    `${replicas}`,
    `${digits((replicas * most) / 1024)} GB`,
    digits(postgres),
    servers <= 1 ? '1' : `1 and ${servers - 1} for reading`,
  ];
}
