// The goals. Ratios are of responses per second unless stated otherwise.

const responses = ({ perSecond }) => perSecond;
const ownTime = ({ server }) => server;
const allTime = ({ server, postgres }) => server + postgres;

const faster = (label, name, other, atLeast) => ({
  label,
  atLeast,
  chart: true,
  measure: ({ figures }) => figures.compare(name, other, responses),
});

const cheaper = (label, name, other, atMost, time = allTime) => ({
  label,
  atMost,
  measure: ({ figures }) => figures.compare(name, other, time),
});

/** How many times as much processor time the other one takes. */
const thrifty = (label, name, other, atLeast) => ({
  label,
  atLeast,
  measure: ({ figures }) => figures.compare(other, name, allTime),
});

const underLoad = (label, atMost, measure) => ({
  label,
  atMost,
  measure: (results) => measure(results.underLoad),
});

const REASONS = {
  uncached:
    'All send one statement for the same rows of one index, and most of the time is system calls, garbage collection, HTTP, JSON and the driver. A server written by hand checks no scopes and no costs, and counts and logs nothing.',
  cached: ({ figures }) => {
    const most = (other) => figures.compare('hand-written/build', other, responses)?.toFixed(1) ?? '?';
    const [inOrder, byHand, postgraphile] = [
      most('hand-written-index-order/members'),
      most('hand-written/members'),
      most('postgraphile/members'),
    ];
    return `A server of Node.js that responds with a constant of a hundred bytes (Q3, by hand) is itself only ${inOrder} × as fast as Q1 by hand in index order, ${byHand} × as fast as Q1 by hand, and ${postgraphile} × as fast as PostGraphile: no cached response of ten thousand bytes can reach that here. Half of the processor time of a cached response is native code, most of it the system call that writes to the socket; then come HTTP of Node.js, metrics and limits.`;
  },
  log: 'A log line costs a hundredth to a fiftieth of a millisecond, of which the system call that writes to the pipe is most, and a cached response a tenth. The two are different processes, which differ by up to a tenth.',
  rounds: 'The difference is smaller than the one between rounds: see the processor time of both below.',
  total:
    'The total is read from one row of an index. The last page has a total, too, and its processor time below is nearly that of a page without one.',
  slapd:
    'The LDAP client sends one filter for all members, the fastest of three strategies, to a server that holds the directory in memory; the service reads from PostgreSQL.',
  rules:
    'Where there are rules, the cursor of a page is encrypted, and each statement proves that the mirror was written with these rules.',
  customFields:
    'Each page has 250 more values, and its body half as many bytes again. A server written by hand that reads them as ordinary columns of one clustered table needs 1.23 to 1.26 × as much processor time for them, too.',
  customFieldValues:
    'A custom field is a value of a JSONB column with its own type and scope. PostgreSQL finds it by its name in each row, where a built-in field is a column.',
  idle: 'A process that is mostly idle pays for each request what a busy one shares among many: waking up, reading from sockets, timers, and caches of the processor that other processes have used.',
  cores:
    'The load generator, PostgreSQL and slapd share the two cores with the service, so two processes do not have two cores.',
  sharedCores:
    'The follower, PostgreSQL, the LDAP server and the load generator share the two cores with the process that responds: a request waits until the kernel gives it a core.',
  revisions:
    'The follower, PostgreSQL and the LDAP server, which apply the changes, share the two cores with the process that responds. The processor time of a response is that without changes: see below.',
  file: 'All bytes of the file are read and hashed to find the changed record. A file that changes before its records are indexed is read completely.',
  memory:
    'The process answers every query of the benchmark with 1,000 tokens, and its response cache alone may take 128 MB.',
  worker:
    'Node.js takes 40 MB, and the code and data of the service and its libraries the rest: GraphQL, Nest, TypeORM and the driver.',
  embedded:
    'The first start also migrates the database and reads the directory in this process, which keeps the memory; later starts take 160 MB less.',
};

/**
 * Requests to `service` miss its response cache; with `/cached` they hit it. `cache-off` has no response cache, like the other
 * contenders.
 */
const GOALS = [
  faster('Q1, uncached ÷ by hand', 'service/members', 'hand-written/members', 1.4),
  faster('Q1, uncached ÷ by hand in index order', 'service/members', 'hand-written-index-order/members', 2),
  faster('Q1, uncached ÷ PostGraphile', 'service/members', 'postgraphile/members', 4.5),
  thrifty(
    'Q1, uncached: processor time by hand in index order ÷ its own',
    'service/members',
    'hand-written-index-order/members',
    2.2,
  ),
  thrifty(
    'Q1, uncached: processor time of PostGraphile ÷ its own',
    'service/members',
    'postgraphile/members',
    5,
  ),
  faster('Q1, like for like ÷ by hand', 'cache-off/members', 'hand-written-read-model/members', 0.75),
  faster('Q1, like for like ÷ PostGraphile', 'cache-off/members', 'postgraphile-read-model/members', 2),
  faster('Q1, cached ÷ by hand', 'service/members/cached', 'hand-written/members', 8),
  faster(
    'Q1, cached ÷ by hand in index order',
    'service/members/cached',
    'hand-written-index-order/members',
    10,
  ),
  faster('Q1, cached ÷ PostGraphile', 'service/members/cached', 'postgraphile/members', 25),
  faster('Q1, uncached: request log on ÷ off', 'service/members', 'log-off/members', 0.9),
  faster('Q1, cached: request log on ÷ off', 'service/members/cached', 'log-off/members/cached', 0.9),
  faster(
    'Q1, cached, by a process that does not follow: 10 unrelated users change a second ÷ none',
    'service/members/10-changes',
    'service/members/cached',
    0.85,
  ),
  faster(
    'Q1, cached, by a process that does not follow: 50 unrelated users change a second ÷ none',
    'service/members/50-changes',
    'service/members/cached',
    0.7,
  ),
  faster(
    'Q1, cached: from a page of another origin ÷ without Origin',
    'service/members/from-page',
    'service/members/cached',
    0.95,
  ),
  faster('Q1, uncached: newer Node.js ÷ that of the service', 'newer-node/members', 'service/members', 1),
  faster(
    'Q1, cached: newer Node.js ÷ that of the service',
    'newer-node/members/cached',
    'service/members/cached',
    1,
  ),
  cheaper(
    'Q1, 50 a second: its own processor time ÷ by hand in index order',
    'cache-off/members/realistic',
    'hand-written-index-order/members/realistic',
    1,
    ownTime,
  ),
  faster('Q1, uncached ÷ slapd', 'service/members', 'slapd/members', 2.5),
  faster('Q1, cached ÷ slapd', 'service/members/cached', 'slapd/members', 12),
  faster('Q2, uncached ÷ by hand', 'cache-off/profile', 'hand-written/profile', 0.7),
  faster('Q2, uncached ÷ PostGraphile', 'cache-off/profile', 'postgraphile/profile', 2.3),
  faster('Q3 ÷ by hand', 'service/build', 'hand-written/build', 0.4),
  faster('Q3 ÷ PostGraphile', 'service/build', 'postgraphile/build', 1),
  faster('Q4, uncached ÷ by hand', 'service/largestPage', 'hand-written/largestPage', 1.4),
  faster('Q5, uncached ÷ PostGraphile', 'cache-off/search', 'postgraphile/search', 1.5),
  {
    label: 'Q5, uncached: 99th percentile in ms',
    atMost: 50,
    measure: ({ figures }) => figures.of('cache-off/search').p99,
  },
  cheaper(
    'Q1, uncached: its own processor time ÷ by hand',
    'service/members',
    'hand-written/members',
    0.9,
    ownTime,
  ),
  cheaper(
    'A page of the last tenth of a large group ÷ the first page, processor time',
    'cache-off/deep',
    'cache-off/first',
    1.2,
  ),
  cheaper('The last page ÷ the first, processor time', 'cache-off/last', 'cache-off/first', 1.2),
  cheaper('A page with its total ÷ without, processor time', 'cache-off/first', 'cache-off/uncounted', 1.2),
  cheaper(
    'Q1 with ten times the memberships ÷ without, processor time',
    'more-memberships/members',
    'plain/members',
    1.2,
  ),
  cheaper(
    'Q1 with one of a hundred users hidden ÷ without rules, processor time',
    'hidden-users/members',
    'plain/members',
    1.25,
  ),
  cheaper(
    'Q1 with rules that match no entry ÷ without rules, processor time',
    'unmatched-rules/members',
    'plain/members',
    1.02,
  ),
  cheaper(
    'Q1 with five custom fields ÷ with five more built-in fields, processor time',
    'custom-fields/ownMembers',
    'custom-fields/builtInMembers',
    1.15,
  ),
  cheaper(
    'Q1 with five custom fields ÷ without them, processor time',
    'custom-fields/ownMembers',
    'custom-fields/members',
    1.15,
  ),
  cheaper(
    'Q1 by two processes, 500 a second each ÷ by one, processor time',
    'two-processes/members/paced',
    'service/members/paced',
    1.1,
  ),
  { label: 'Maximum memory of a process, in MB', atMost: 240, measure: ({ memory }) => memory.max },
  {
    label: 'Q1, cached: a process for each core ÷ one process',
    atLeast: 1.7,
    measure: ({ underLoad }) => underLoad.workers.ratio,
  },
  underLoad('Longest request during a comparison of the mirror, in ms', 50, (of) => of.comparison.longest),
  underLoad(
    'Requests during a comparison ÷ otherwise, 99th percentile',
    2,
    ({ comparison }) => comparison.p99 / comparison.p99Between,
  ),
  underLoad('Longest request while a changed LDIF file is read, in ms', 50, (of) => of.file.longest),
  underLoad(
    'Requests while a changed LDIF file is read ÷ otherwise, 99th percentile',
    2,
    ({ file }) => file.p99 / file.p99Between,
  ),
  underLoad('A changed record of an LDIF file is visible, in ms', 1000, (of) => of.file.visible),
  underLoad('A changed user is visible at 70 % load, median in ms', 80, (of) => of.freshness.loaded.p50),
  underLoad('… 99th percentile in ms', 250, (of) => of.freshness.loaded.p99),
  {
    label: 'Q1, cached, by one process that follows: 10 unrelated users change a second ÷ none',
    atLeast: 0.85,
    measure: ({ underLoad }) => underLoad.changes[0],
  },
  {
    label: 'Q1, cached, by one process that follows: 50 unrelated users change a second ÷ none',
    atLeast: 0.7,
    measure: ({ underLoad }) => underLoad.changes[1],
  },
  {
    label: 'Q1, cached: responses that are read again after a full minute, in percent',
    atMost: 0,
    measure: ({ fullMinute }) => fullMinute,
  },
  underLoad('The revision of one changed user is applied, median in ms', 15, ({ bulk }) => bulk.revision),
  underLoad(
    'Requests during 5,000 single changes ÷ while nothing changes, 99th percentile',
    2,
    ({ bulk }) => bulk.many.p99 / bulk.idle,
  ),
  underLoad('The last of 5,000 single changes is visible, in ms', 5000, ({ bulk }) => bulk.many.slowest),
  underLoad('… longest request meanwhile, in ms', 50, ({ bulk }) => bulk.many.longest),
  underLoad(
    'A group of 5,000 joins or leaves a group three levels deep, slowest in ms',
    2000,
    ({ bulk }) => bulk.nested.slowest,
  ),
  underLoad('… longest request meanwhile, in ms', 50, ({ bulk }) => bulk.nested.longest),
  underLoad(
    'A member joins or leaves a group of all users, slowest in ms',
    2000,
    ({ bulk }) => bulk.member.slowest,
  ),
  underLoad('… longest request meanwhile, in ms', 50, ({ bulk }) => bulk.member.longest),
  underLoad('Memory of a worker at rest, in MB', 120, (of) => of.memory),
  underLoad('Memory of the embedded default at rest, in MB', 320, (of) => of.embedded.now),
];

/** The reasons of goals whose labels match, or functions of the results that return them. */
const REASON_OF = [
  [/^Q1, 50 a second/, REASONS.idle],
  [/^Q1 by two processes/, REASONS.cores],
  [/a process for each core/, REASONS.cores],
  [/five custom fields ÷ without/, REASONS.customFields],
  [/five custom fields ÷ with five/, REASONS.customFieldValues],
  [/^A page with its total/, REASONS.total],
  [/uncached: newer Node|another origin/, REASONS.rounds],
  [/request log/, REASONS.log],
  [/rules that match no entry/, REASONS.rules],
  [/unrelated users change/, REASONS.revisions],
  [/^Maximum memory/, REASONS.memory],
  [/^(Q1, cached ÷|Q1, cached: newer)/, REASONS.cached],
  [/uncached ÷ slapd/, REASONS.slapd],
  [/^Q\d.*(by hand|PostGraphile|newer Node)/, REASONS.uncached],
  [/LDIF file is visible/, REASONS.file],
  [/ongest request|visible at|99th percentile( in ms)?$|that follows|is applied/, REASONS.sharedCores],
  [/worker at rest/, REASONS.worker],
  [/embedded default/, REASONS.embedded],
];

function reasonOf(label, results) {
  const reason = REASON_OF.find(([pattern]) => pattern.test(label))?.[1];
  return typeof reason === 'function' ? reason(results) : reason;
}

/**
 * @param {{ figures: import('../measure/figures.mjs').Figures, memory: { most: number } }} results
 * @returns each goal with its value and whether it is met, or null if it was not measured
 */
export function evaluateGoals(results) {
  return GOALS.map(({ measure, ...goal }) => {
    const value = measure(results);
    const isMet =
      value === null ? null : goal.atLeast === undefined ? value <= goal.atMost : value >= goal.atLeast;
    return { ...goal, value, isMet, reason: reasonOf(goal.label, results) };
  });
}
