// Nobody is measured who does not say the same: before the first round, everybody answers and is compared.
import { isDeepStrictEqual } from 'node:util';

/** Groups, people and terms that are compared. */
const SAMPLES = 20;

/** @throws Error when two contenders say different things */
export async function checkAnswers({ contenders, slapd, main }) {
  const reference = contenders.get('service');
  const others = [...contenders.values()].filter(({ name }) => name !== 'service' && name !== 'more');
  const asked = [
    ...main.subjects.groups.slice(0, SAMPLES).map((id) => ['members', { id }]),
    ...main.subjects.groups.slice(0, SAMPLES).map((id) => ['largestPage', { id }]),
    ...main.subjects.terms.slice(0, SAMPLES).map((query) => ['search', { query }]),
    ...Array.from({ length: SAMPLES }, () => ['profile', {}]),
    ['build', {}],
  ];
  for (const [index, [question, variables]] of asked.entries()) {
    const { token } = main.people[index % main.people.length];
    const expected = await reference.ask(question, variables, token);
    for (const other of others) {
      if (!takesPart(other, question)) continue;
      compare(other.name, question, variables, await other.ask(question, variables, token), expected);
    }
    if (question === 'members' && slapd !== null) await checkSlapd(slapd, variables, expected);
  }
}

/** There is one search, on one index. */
function takesPart({ questions }, question) {
  return questions[question] !== undefined;
}

/** An LDAP client has neither cursors nor signed URLs to give. */
async function checkSlapd(slapd, { id }, { name, totalCount, hasNextPage, members }) {
  const withoutPhotos = {
    name,
    totalCount,
    hasNextPage,
    members: members.map(([role, person, schoolYear]) => [role, person, schoolYear]),
  };
  for (const way of slapd.ways) {
    compare(`slapd, ${way}`, 'members', { id }, await slapd.ask(way, id), withoutPhotos);
  }
}

function compare(name, question, variables, found, expected) {
  if (isDeepStrictEqual(found, expected)) return;
  throw new Error(
    `${name} answers ${question} ${JSON.stringify(variables)} otherwise than the service:\n` +
      `${JSON.stringify(found)}\n${JSON.stringify(expected)}`,
  );
}

/** What must have been asked of PostgreSQL each time, beside who asks it the least for the same. */
const ASKED_EACH_TIME = [
  ['service/members', 'hand-written-alike/members'],
  ['service/largestPage', 'hand-written-alike/largestPage'],
  ['service/search', 'hand-written/search'],
  ['forgetful/members', 'hand-written-alike/members'],
  ['forgetful/profile', 'hand-written-alike/profile'],
  ['forgetful/deep', 'hand-written-alike/members'],
  ['more/members', 'hand-written-alike/members'],
];
/** Share of the other's time in PostgreSQL; what was remembered takes none. */
const AT_LEAST = 0.25;

/** @throws Error when an answer was remembered that must not have been */
export function checkNothingRemembered(figures) {
  for (const [name, other] of ASKED_EACH_TIME) {
    const share = figures.compare(name, other, ({ postgres }) => postgres);
    if (share < AT_LEAST) throw new Error(`${name} hardly asked PostgreSQL: it was answered from memory`);
  }
}
