import { buildLdif } from '../support/builders/directory.js';
import { writeClients } from '../support/clients/clients.js';
import { dataOf, type HttpRequest, refusalOf, send } from '../support/clients/http.js';
import { WatchedService } from '../support/watched-service.js';
import { forSuite } from '../support/for-suite.js';

function operation(query: string, variables: Record<string, unknown> = {}): HttpRequest {
  const headers = { 'content-type': 'application/json' };
  return { method: 'POST', headers, body: JSON.stringify({ query, variables }) };
}

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

const service = forSuite(() =>
  WatchedService.start({
    ldif: buildLdif([{ id: 'anna' }, ...PEOPLE], [...GROUPS, ...LARGE]),
    environment: { AUTH_EMBEDDED_CLIENTS: writeClients([{ id: 'client', owner: 'anna' }]) },
  }),
);
let authorization: string;

beforeAll(async () => {
  authorization = await service.accessToken('profile read directory write', 'client');
});

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
  // The second time, it is compiled.
  const ofNames = `{ ${[1, 2, 3, 4].map((at) => `a${at}: groups(first: 100) { nodes { ...F } }`).join(' ')} } fragment F on Group { ${'x'.repeat(90_000)}: id }`;
  for (let time = 0; time < 3; time++) expect(refusalOf(await sendOperation(ofNames))).toEqual(TOO_COMPLEX);
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
  const deep = 'x'.repeat(1500);
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
