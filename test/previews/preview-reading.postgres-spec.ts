import { buildLdif } from '../support/builders/directory.js';
import { writeClients } from '../support/clients/clients.js';
import { type HttpAnswer, post } from '../support/clients/http.js';
import { TestService } from '../support/servers/service.js';
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

  it.each(['write', 'profile write'])(
    'with %s rejects an id that a group references already, like one that is in use',
    async (scope) => {
      const bodies: string[] = [];
      for (const id of ['ghost', 'closed']) {
        const query = `mutation { createGroup(input: {id: "${id}", name: "New"}) { group { parents(first: 5) { nodes { name } } } userErrors { code message path } } }`;
        bodies.push((await send(query, scope)).body.replaceAll(/"requestId":"[^"]*"/g, ''));
      }
      expect(JSON.parse(bodies[0] ?? '')).toMatchObject({
        data: { createGroup: { group: null, userErrors: [{ code: 'CONFLICT', path: ['input', 'id'] }] } },
      });
      expect(bodies[1]).toBe(bodies[0]);
    },
  );

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
