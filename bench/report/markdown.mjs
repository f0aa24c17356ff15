// The report, for people.
import { TITLES } from '../questions.mjs';
import { digits, percent, table } from './numbers.mjs';
import { describeScale } from './scale.mjs';

const BUSY = 0.05;

/** @param results see run.mjs */
export function writeReport(results) {
  const { goals, figures, missing, date, isQuick } = results;
  const met = goals.filter(({ isMet }) => isMet).length;
  return [
    '# Benchmark',
    `Written by \`npm run bench\` on ${date}: the service beside what else there is, in one run. bench/README.md describes the method.`,
    ...warnings({ figures, missing, isQuick }),
    `![Answers a second of the service, compared with others](ratios.svg)`,
    '## Goals',
    `${met} of ${goals.length} are met. Ratios are of answers a second where nothing else is said.`,
    table(['', 'goal', 'measured', ''], goals.map(goalRow)),
    '## Machine',
    table(['', ''], results.machine),
    describeDirectory(results),
    ...questionTables(results),
    '## What a page costs',
    'Processor time an answer, in milliseconds. The first, the last and a deep page are of groups with thousands of people.',
    table(['', 'service', 'PostgreSQL', 'together'], costRows(figures)),
    '## Memory',
    `A process of the service held ${digits(results.memory.now)} MB at the end, and ${digits(results.memory.most)} MB at most.`,
    '## More than one machine',
    describeScale(figures, { ...results.facts, memory: results.memory }),
    '',
  ].join('\n\n');
}

function warnings({ figures, missing, isQuick }) {
  const found = [...missing];
  if (figures.others > BUSY) {
    found.push(
      `The machine was busy: ${percent(figures.others)} of it had other work while this was measured. Ratios suffer less from that than figures, and both suffer.`,
    );
  }
  if (isQuick) found.push('A quick run, on a small directory: it shows that everything works, and no more.');
  return found.map((text) => `> ${text}`);
}

function describeDirectory({ facts, ways }) {
  const count = (number) => number.toLocaleString('en-GB');
  const size = `${count(facts.people)} people, ${count(facts.groups)} groups, ${count(facts.memberships)} memberships.`;
  if (ways === null) return size;
  const tried = Object.entries(ways).map(([way, perSecond]) => `${way} (${digits(perSecond)} a second)`);
  return `${size} Ways of asking slapd that were tried: ${tried.join(', ')}; the best one is measured.`;
}

function goalRow({ what, atLeast, atMost, value, isMet }) {
  const goal = atLeast === undefined ? `≤ ${atMost}` : `≥ ${atLeast}`;
  const outcome = isMet === null ? 'not measured' : isMet ? 'met' : '**missed**';
  return [what, goal, digits(value), outcome];
}

const NAMES = {
  service: 'Directory Service',
  forgetful: 'Directory Service, no answers remembered',
  'hand-written': 'Written by hand',
  'hand-written-alike': 'Written by hand, like for like',
  postgraphile: 'PostGraphile 5',
  'postgraphile-alike': 'PostGraphile 5, like for like',
  slapd: 'Asking slapd directly',
};

const nameOf = ([contender, , mode]) =>
  mode === 'again' ? `${NAMES[contender]}, asked again` : NAMES[contender];

function questionTables({ figures }) {
  const head = ['', 'answers a second', 'p50 ms', 'p99 ms', 'processor ms', 'PostgreSQL ms', 'load'];
  return Object.entries(TITLES).flatMap(([question, title]) => {
    const rows = figures.names
      .map((name) => name.split('/'))
      .filter(
        ([contender, asked, mode]) => asked === question && !mode?.startsWith('paced') && contender in NAMES,
      )
      .map((parts) => [nameOf(parts), ...cellsOf(figures.of(parts.join('/')))]);
    return [`## ${title}`, table(head, rows)];
  });
}

function cellsOf({ perSecond, p50, p99, server, postgres, loader }) {
  return [digits(perSecond), digits(p50), digits(p99), digits(server), digits(postgres), percent(loader)];
}

const COSTS = [
  ['Q1', 'forgetful/members'],
  ['Q1 with ten times the memberships', 'more/members'],
  ['Q1 by two processes, as often as they can', 'twice/members'],
  ['Q1 by one process, five hundred a second', 'service/members/paced'],
  ['Q1 by two processes, five hundred a second each', 'twice/members/paced'],
  ['Q1 by one process, a thousand a second', 'service/members/paced-for-two'],
  ['The first 50 of a large group', 'forgetful/first'],
  ['… without their total', 'forgetful/uncounted'],
  ['50 from its last tenth', 'forgetful/deep'],
  ['The last 50', 'forgetful/last'],
];

function costRows(figures) {
  return COSTS.map(([what, name]) => {
    const { server, postgres } = figures.of(name);
    return [what, digits(server), digits(postgres), digits(server + postgres)];
  });
}
