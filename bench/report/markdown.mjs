// Writes the report.
import { TITLES } from '../queries.mjs';
import { digits, percent, table } from './numbers.mjs';
import { nameGoals } from './previous.mjs';
import { describeScale } from './scale.mjs';
import { describeUnderLoad } from './under-load.mjs';

const BUSY = 0.05;

/** What the contenders do not have in common. */
const FAVORS = `## Whom the differences favor

- The others: only the service computes costs, checks scopes, counts and logs requests, and keeps metrics. Its log goes to a pipe, which
  another process of the benchmark reads on the same cores.
- PostGraphile: it runs with the newer Node.js, and returns roles as numbers.
- The LDAP client: slapd holds the directory in memory, returns no signed URLs, and members are stored in the order of names.
- The service: it reads memberships in the order of an index, a stored count, and signed URLs from a cache. «Like for like» gives the first
  two contenders the same. Only the service has a response cache.`;

/** @param results see run.mjs */
export function writeReport(results) {
  const { goals, figures, missing, date, isQuick } = results;
  const met = goals.filter(({ isMet }) => isMet).length;
  return [
    '# Benchmark',
    `Written by \`npm run bench\` on ${date}: the service and its alternatives in one run. bench/README.md describes the method.`,
    ...warnings({ figures, missing, isQuick }),
    `![Responses per second of the service, compared with others](ratios.svg)`,
    '## Goals',
    `${met} of ${goals.length} are met. Ratios are of responses per second unless stated otherwise.`,
    'The previous report is of another run, in which the machine may have been faster or slower: only ratios can be compared.',
    goalTable(goals, results.previous),
    ...reasons(goals),
    FAVORS,
    '`npm run bench:load` measures the goals of a million users: [report](LOAD.md).',
    '## Machine',
    table(['', ''], results.machine),
    describeDirectory(results),
    ...queryTables(results),
    '## Cost of pages',
    'Processor time per response, in milliseconds. The first, the last and a deep page are of groups with thousands of members.',
    table(['', 'service', 'PostgreSQL', 'total'], costRows(figures)),
    '## Memory',
    `A process of the service used ${digits(results.memory.now)} MB at the end, and at most ${digits(results.memory.max)} MB.`,
    '## While the directory changes',
    'The service with its defaults, a directory of the same size on slapd or in an LDIF file, and 100 requests a second unless stated otherwise. All share the cores of the machine with the load.',
    describeUnderLoad(results.underLoad),
    '## More than one machine',
    describeScale(figures, { ...results.directorySize, memory: results.memory }),
    '',
  ].join('\n\n');
}

function warnings({ figures, missing, isQuick }) {
  const found = [...missing];
  if (figures.others > BUSY) {
    found.push(
      `The machine was busy: other processes used ${percent(figures.others)} of it. That affects the figures, and the ratios less.`,
    );
  }
  if (isQuick) found.push('A quick run with a small directory: its figures are not representative.');
  return found.map((text) => `> ${text}`);
}

function describeDirectory({ directorySize, strategies }) {
  const count = (number) => number.toLocaleString('en-GB');
  const size = `${count(directorySize.people)} users, ${count(directorySize.groups)} groups, ${count(directorySize.memberships)} memberships.`;
  if (strategies === null) return size;
  const tried = Object.entries(strategies).map(
    ([strategy, perSecond]) => `${strategy} (${digits(perSecond)} per second)`,
  );
  return `${size} Strategies of the LDAP client: ${tried.join(', ')}; the fastest is measured.`;
}

function goalTable(goals, previous) {
  const names = nameGoals(goals);
  const rows = goals.map((goal, index) => goalRow(goal, previous.get(names[index]) ?? ''));
  return table(['', 'goal', 'previously', 'measured', ''], rows);
}

function goalRow({ label, atLeast, atMost, value, isMet }, before) {
  const goal = atLeast === undefined ? `≤ ${atMost}` : `≥ ${atLeast}`;
  const outcome = isMet === null ? 'not measured' : isMet ? 'met' : '**missed**';
  return [label, goal, before, digits(value), outcome];
}

/** Why goals are missed. Goals that are missed for the same reason share it. */
function reasons(goals) {
  const labels = new Map();
  for (const { label, reason, isMet } of goals)
    if (isMet === false) labels.set(reason, [...(labels.get(reason) ?? []), label]);
  const lines = [...labels].map(
    ([reason = 'The reason is not known.', missed]) => `- ${missed.join('; ')}: ${reason}`,
  );
  return lines.length === 0 ? [] : ['Why goals are missed:', lines.join('\n')];
}

const NAMES = {
  service: 'Directory Service',
  'cache-off': 'Directory Service, response cache off',
  'hand-written': 'Written by hand',
  'hand-written-index-order': 'Written by hand, pages in the order of an index',
  'hand-written-read-model': 'Written by hand, like for like',
  postgraphile: 'PostGraphile 5',
  'postgraphile-read-model': 'PostGraphile 5, like for like',
  'log-off': 'Directory Service, request log off',
  'newer-node': 'Directory Service, newer Node.js',
  slapd: 'slapd with an LDAP client',
};

const MODES = {
  cached: ', cached',
  '10-changes': ', cached, while 10 unrelated users change a second',
  '50-changes': ', cached, while 50 unrelated users change a second',
  'from-page': ', cached, from a page of another origin',
  realistic: ', 50 a second',
};

const nameOf = ([contender, , mode]) => `${NAMES[contender]}${MODES[mode] ?? ''}`;

function queryTables({ figures }) {
  const head = ['', 'responses per second', 'p50 ms', 'p99 ms', 'processor ms', 'PostgreSQL ms', 'load'];
  return Object.entries(TITLES).flatMap(([queryName, title]) => {
    const rows = figures.names
      .map((name) => name.split('/'))
      .filter(
        ([contender, requests, mode]) =>
          requests === queryName && !mode?.startsWith('paced') && contender in NAMES,
      )
      .map((parts) => [nameOf(parts), ...figureCells(figures.of(parts.join('/')))]);
    return [`## ${title}`, table(head, rows)];
  });
}

function figureCells({ perSecond, p50, p99, server, postgres, loadProcess }) {
  return [
    digits(perSecond),
    digits(p50),
    digits(p99),
    digits(server),
    digits(postgres),
    percent(loadProcess),
  ];
}

const COSTS = [
  ['Q1', 'cache-off/members'],
  ['Q1 of processes that receive no other query, as in the next three lines', 'plain/members'],
  ['Q1 with ten times the memberships', 'more-memberships/members'],
  ['Q1 with one of a hundred users hidden', 'hidden-users/members'],
  ['Q1 with rules that match no entry', 'unmatched-rules/members'],
  ['Q1 in the directory with custom fields, without them', 'custom-fields/members'],
  ['Q1 with five custom fields', 'custom-fields/ownMembers'],
  ['Q1 with five more built-in fields', 'custom-fields/builtInMembers'],
  ['Q1 by two processes, unlimited', 'two-processes/members'],
  ['Q1 by one process, 500 a second', 'service/members/paced'],
  ['Q1 by two processes, 500 a second each', 'two-processes/members/paced'],
  ['Q1 by one process, 1,000 a second', 'service/members/paced-for-two'],
  ['The first 50 of a large group', 'cache-off/first'],
  ['… without the total', 'cache-off/uncounted'],
  ['50 of its last tenth', 'cache-off/deep'],
  ['The last 50', 'cache-off/last'],
];

function costRows(figures) {
  return COSTS.map(([label, name]) => {
    const { server, postgres } = figures.of(name);
    return [label, digits(server), digits(postgres), digits(server + postgres)];
  });
}
