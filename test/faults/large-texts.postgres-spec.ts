import { buildLdif } from '../support/builders/directory.js';
import { operation } from '../support/builders/limit-cases.js';
import { writeClients } from '../support/clients/clients.js';
import { dataOf, refusalOf, send } from '../support/clients/http.js';
import { WatchedService } from '../support/watched-service.js';

const TOO_COMPLEX = [400, 'QUERY_TOO_COMPLEX'];
const DESCRIPTION = 'x'.repeat(9_990);
/** Together with DESCRIPTION and the most aliases, their response has more than 20,000,000 characters. */
const GROUPS = Array.from({ length: 70 }, (_, number) => ({ id: `g${number}`, description: DESCRIPTION }));
const PEOPLE = Array.from({ length: 99 }, (_, number) => ({ id: `p${number}` }));
/** Groups of all people: 594 memberships. */
const LARGE = ['a', 'b', 'c', 'd', 'e', 'f'].map((id) => ({
  id,
  members: PEOPLE.map((person) => person.id),
}));
/** Megabytes that a heap may grow by, of hundreds that the requests below have. */
const GROWTH = 60;

let service: WatchedService;
let authorization: string;

beforeAll(async () => {
  service = await WatchedService.start({
    ldif: buildLdif([{ id: 'anna' }, ...PEOPLE], [...GROUPS, ...LARGE]),
    environment: { AUTH_EMBEDDED_CLIENTS: writeClients([{ id: 'client', owner: 'anna' }]) },
  });
  authorization = await service.accessToken('profile read directory write', 'client');
});

afterAll(() => service.stop());

const sendOperation = (
  query: string,
  variables = {},
  headers: Record<string, string> = { authorization },
) => {
  const request = operation(query, variables);
  return send(service, { ...request, headers: { ...request.headers, ...headers } });
};

/** Megabytes by which the heap grows. */
async function growthDuring(work: () => Promise<void>): Promise<number> {
  const before = await service.collect();
  await work();
  return (await service.collect()) - before;
}

const repeated = (count: number) => Array.from({ length: count }, (_, at) => `a${at}: description`).join(' ');

it('rejects a response of more than 20,000,000 characters, before it is written', async () => {
  const ofAll = (aliases: number) => `{ groups(first: 100) { totalCount nodes { ${repeated(aliases)} } } }`;
  expect(dataOf(await sendOperation(ofAll(28)))).toMatchObject({ groups: { totalCount: 76 } });
  expect(refusalOf(await sendOperation(ofAll(29)))).toEqual(TOO_COMPLEX);
});

it('rejects a response of as many characters in errors', async () => {
  const name = (letter: string) => letter.repeat(256);
  const photos = Array.from({ length: 25 }, (_, at) => `x${at}: photo(size: 0)`).join(' ');
  const query = `{ ${name('a')}: groups(first: 100) { ${name('b')}: nodes { ${name('c')}: members(first: 99) {
    ${name('d')}: nodes { ${name('e')}: user { ${photos} } } } } } }`;
  const short = query.replaceAll(/(\w)\1{255}: /g, '');
  expect((await sendOperation(short)).status).toBe(200);
  for (let time = 0; time < 3; time++) expect(refusalOf(await sendOperation(query))).toEqual(TOO_COMPLEX);
});

describe('the errors of fields that a token may not read', () => {
  const members = (count: number, more = '') =>
    Array.from({ length: count }, (_, at) => `x${at}${more}: members(first: 0) { __typename }`).join(' ');
  const below = (name: (letter: string) => string, inside: string) => `{ ${name('a')}users(first: 100) {
    ${name('b')}nodes { ${name('c')}groups(first: 99) { ${name('d')}nodes { ${name('e')}group { ${inside} } } } } } }`;

  it('count as characters of the response', async () => {
    const headers = { authorization: await service.accessToken('directory', 'client') };
    const short = await sendOperation(
      below(() => '', members(22)),
      {},
      headers,
    );
    const { data, errors } = JSON.parse(short.body) as { data: unknown; errors: { path: unknown }[] };
    expect(errors).toHaveLength(22 * 594);
    expect(new Set(errors.map(({ path }) => JSON.stringify(path))).size).toBe(22 * 594);
    expect(JSON.stringify(data).split('"x7":null')).toHaveLength(594 + 1);
    const long = below((letter) => `${letter.repeat(256)}: `, members(22, 'x'.repeat(253)));
    const growth = await growthDuring(async () => {
      for (let time = 0; time < 5; time++)
        expect(refusalOf(await sendOperation(long, {}, headers))).toEqual(TOO_COMPLEX);
    });
    expect(growth).toBeLessThan(GROWTH);
  });

  it('count as values of the response', async () => {
    const query = below(() => '', members(30));
    expect((await sendOperation(query)).status).toBe(200);
    const headers = { authorization: await service.accessToken('directory', 'client') };
    expect(refusalOf(await sendOperation(query, {}, headers))).toEqual(TOO_COMPLEX);
  });
});

it.each(['a text', 'a list'])(
  'counts %s in a variable below many objects, also after a short one',
  async (what) => {
    const query = `query ($filter: UserMemberFilter) {
    groups(first: 100) { nodes { members(first: 98) { nodes { group { members(first: 0, filter: $filter) { totalCount } } } } } } }`;
    const filterOf = (texts: string[]) =>
      what === 'a text' ? { schoolYear: texts.join('') } : { schoolYears: texts };
    expect((await sendOperation(query, { filter: filterOf(['1A']) })).status).toBe(200);
    const long = filterOf(Array.from({ length: 60 }, () => 'x'.repeat(90)));
    expect(refusalOf(await sendOperation(query, { filter: long }))).toEqual(TOO_COMPLEX);
  },
);

it('counts empty pages below many objects', async () => {
  const lists = Array.from({ length: 25 }, (_, at) => `a${at}: members(first: 0) { totalCount }`).join(' ');
  const query = `{ groups(first: 100) { nodes { members(first: 98) { nodes { group { ${lists} } } } } } }`;
  expect(refusalOf(await sendOperation(query))).toEqual(TOO_COMPLEX);
});

it('rejects paths of megabytes, without a token', async () => {
  const fields = 'id name description website email createdAt updatedAt nodeId';
  const pages = ['parents', 'subgroups'].map(
    (list) => `${list}(first: 1) { nodes { ...NEXT } edges { node { ...NEXT } } }`,
  );
  const fragments = ['b', 'c', 'd', 'e'].map(
    (name, at) =>
      `fragment ${name} on Group { ${fields} ${name === 'e' ? '' : pages.join(' ').replaceAll('NEXT', 'bcde'.charAt(at + 1))} }`,
  );
  const deep = 'x'.repeat(256);
  const start = `groups(first: 1) { nodes { ...b } edges { node { ...b } } }`;
  // Each level is one alias of many letters.
  const wrapped = Array.from({ length: 60 }).reduce<string>(
    (inner) => `${deep}: subgroups(first: 1) { nodes { ${inner} } }`,
    '...b',
  );
  const growth = await growthDuring(async () => {
    for (let time = 0; time < 5; time++) {
      const query = `{ a${time}: ${start} groups(first: 1) { nodes { ${wrapped} } } } ${fragments.join(' ')}`;
      expect(refusalOf(await sendOperation(query, {}, {}))).toEqual(TOO_COMPLEX);
    }
  });
  expect(growth).toBeLessThan(GROWTH);
});

it('keeps no long arguments', async () => {
  const members = (at: number) =>
    `a${at}: group(group: {id: "g0"}) { members(first: 1, filter: $filter) { totalCount } }`;
  const growth = await growthDuring(async () => {
    for (let document = 0; document < 10; document++) {
      const roots = Array.from({ length: 20 }, (_, at) => members(100 * document + at)).join(' ');
      for (let time = 0; time < 8; time++) {
        const filter = { schoolYear: `Ā${document}-${time}`.padEnd(95_000, 'x') };
        const answer = await sendOperation(`query ($filter: UserMemberFilter) { ${roots} }`, { filter });
        expect(Object.keys(dataOf(answer) ?? {})).toHaveLength(20);
      }
    }
  });
  expect(growth).toBeLessThan(GROWTH);
});
