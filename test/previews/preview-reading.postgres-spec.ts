import { buildLdif } from '../support/builders/directory.js';
import { writeClients } from '../support/clients/clients.js';
import { type HttpAnswer, post } from '../support/clients/http.js';
import { TestService } from '../support/servers/service.js';
import { statementsOf } from '../support/builders/statements.js';
import { flatten, printSelection, walkMutations } from '../support/clients/schema-walk.js';
import { argumentsOf, schema } from '../support/clients/scope-walk.js';

/** Ada sends the requests. Victor and the group `closed` are others'; each of their values can be recognized. */
const DIRECTORY = buildLdif(
  [
    { id: 'ada', name: 'Ada' },
    {
      id: 'victor',
      name: 'Victor Canary',
      givenName: 'Canary',
      email: 'canary@example.org',
      schoolYear: '9Z',
    },
  ],
  [
    { id: 'open', name: 'Open', members: ['ada'], owners: ['ada'] },
    { id: 'closed', name: 'Canary group', description: 'Canary text', members: ['victor', '@ghost'] },
  ],
);

/** An existing id and an unknown one. */
const GROUP = ['closed', 'absent'];
const USER = ['victor', 'nobody'];
const PROBES: [mutation: string, ids: string[]][] = [
  ['createGroup(input: {id: "mine", name: "Mine", parent: {id: "ID"}})', GROUP],
  ['updateGroup(input: {group: {id: "ID"}, name: "Mine"})', GROUP],
  ['deleteGroup(input: {group: {id: "ID"}})', GROUP],
  ['addGroupMember(input: {group: {id: "open"}, user: {id: "ID"}})', USER],
  ['addGroupMember(input: {group: {id: "ID"}, user: {id: "ada"}})', GROUP],
  ['updateGroupMember(input: {group: {id: "open"}, user: {id: "ID"}, role: ADMIN})', USER],
  ['updateGroupMember(input: {group: {id: "ID"}, user: {id: "ada"}, role: ADMIN})', GROUP],
  ['removeGroupMember(input: {group: {id: "open"}, user: {id: "ID"}})', USER],
  ['removeGroupMember(input: {group: {id: "ID"}, user: {id: "ada"}})', GROUP],
];

describe('a preview', () => {
  const service = TestService.forSuite({
    ldif: DIRECTORY,
    compared: false,
    environment: {
      AUTH_EMBEDDED_CLIENTS: writeClients([{ id: 'ada-app', owner: 'ada' }]),
      LIMIT_TOKENS: '100000',
    },
  });

  async function send(query: string, scope: string): Promise<HttpAnswer> {
    return post(service, { query }, { authorization: await service.accessToken(scope, 'ada-app') });
  }

  it('shows a token with write only no user whom it adds to a new group', async () => {
    const query = (id: string) => `mutation {
      createGroup(input: {id: "mine", name: "Mine"}) { group { id name } }
      addGroupMember(input: {group: {id: "mine"}, user: {id: "${id}"}}) {
        membership { user { id name email photo groups(first: 10) { nodes { group { id name } } } } }
        preview { ldif }
      }
    }`;
    const { status, body } = await send(query('victor'), 'write');
    expect(status).toBe(200);
    expect(body).not.toMatch(/canary|closed|uid=victor/i);
    expect(JSON.parse(body)).toMatchObject({
      data: { createGroup: { group: { id: 'mine', name: 'Mine' } }, addGroupMember: null },
      errors: [
        { path: ['addGroupMember'], extensions: { code: 'INSUFFICIENT_SCOPE', requiredScopes: ['read'] } },
      ],
    });
    expect(comparable(await send(query('nobody'), 'write'))).toEqual(comparable({ status, body }));
  });

  it.each(['write', 'profile write'])(
    'shows a token with %s nothing of others on any path',
    async (scope) => {
      const steps = walkMutations(schema, 5);
      const given = (coordinate: string) =>
        argumentsOf(coordinate)
          ?.replaceAll('"inner"', '"open"')
          .replaceAll('"zoo"', '"closed"')
          .replaceAll(/"(mia|zoe)"/g, '"victor"');
      const { body } = await send(`mutation ${printSelection(steps, given)}`, scope);
      expect(flatten(steps).length).toBeGreaterThan(200);
      expect(body).not.toMatch(/canary|uid=victor|cn=closed/i);
    },
  );

  describe.each(['write', 'profile write'])('for a token with %s', (scope) => {
    it.each(PROBES)(
      'does not distinguish an id that it cannot read from an unknown one: %s',
      async (mutation, ids) => {
        const answers: unknown[] = [];
        const statements: string[][] = [];
        for (const id of ids) {
          const query = `mutation { ${mutation.replace('ID', id)} { preview { ldif } userErrors { code message path } } }`;
          // The first one of a kind may read what is cached afterwards.
          await send(query, scope);
          const sent = await statementsOf(async () => answers.push(comparable(await send(query, scope))));
          statements.push(sent.map(({ text }) => text));
        }
        expect(answers[0]).toEqual(answers[1]);
        expect(statements[0]).toEqual(statements[1]);
      },
    );

    it('rejects an id that a group references already, like one that is in use', async () => {
      const make = (id: string) =>
        send(
          `mutation { createGroup(input: {id: "${id}", name: "New"}) { group { parents(first: 5) { nodes { name } } } userErrors { code path } } }`,
          scope,
        );
      const refused = await make('ghost');
      expect(JSON.parse(refused.body)).toMatchObject({
        data: { createGroup: { group: null, userErrors: [{ code: 'CONFLICT', path: ['input', 'id'] }] } },
      });
      expect(comparable(await make('closed'))).toEqual(comparable(refused));
    });
  });

  it('shows the groups that contain a new group to a token that can read them', async () => {
    const { body } = await send(
      'mutation { createGroup(input: {id: "ghost", name: "New"}) { group { parents(first: 5) { nodes { id } } } } }',
      'read write',
    );
    expect(JSON.parse(body)).toEqual({
      data: { createGroup: { group: { parents: { nodes: [{ id: 'closed' }] } } } },
    });
  });
});

/** The content of a response, without the id of its request. */
function comparable({ status, body }: Pick<HttpAnswer, 'status' | 'body'>): unknown {
  return [status, body.replaceAll(/"requestId":"[^"]*"/g, '')];
}
