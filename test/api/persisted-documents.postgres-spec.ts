import { hash } from 'node:crypto';
import { buildLdif } from '../support/builders/directory.js';
import { dataOf, get, type HttpAnswer, post, refusalOf } from '../support/clients/http.js';
import { TestService } from '../support/servers/service.js';

const LDIF = buildLdif([{ id: 'anna', name: 'Anna' }]);
const ANNA = { user: { name: 'Anna' } };
const UNKNOWN = [200, 'PERSISTED_QUERY_NOT_FOUND'];

let lastDocument = 0;
/** A document that was never sent. */
const newDocument = () => `query Q${++lastDocument} { user(user: {id: "anna"}) { name } }`;
const sha256Of = (text: string) => hash('sha256', text);
const persisted = (sha256Hash: unknown, version: unknown = 1) => ({
  extensions: { persistedQuery: { version, sha256Hash } },
});
const byHash = (query: string) => persisted(sha256Of(query));

function argumentOf({ body }: HttpAnswer): unknown {
  const { errors } = JSON.parse(body) as { errors: { extensions: Record<string, unknown> }[] };
  return errors[0]?.extensions['argument'];
}

describe('an automatic persisted query', () => {
  const service = TestService.forSuite({ ldif: LDIF });
  let authorization: string;

  beforeAll(async () => {
    authorization = await service.serviceAccount('read');
  });

  const sendBody = (body: object) => post(service, body, { authorization });

  it.each(['application/json', 'application/graphql-response+json'])(
    'is unknown until it is registered, as Apollo Server answers it, as %s',
    async (accept) => {
      const query = newDocument();
      const unknown = await post(service, byHash(query), { authorization, accept });
      expect(refusalOf(unknown)).toEqual(UNKNOWN);
      const { errors } = JSON.parse(unknown.body) as { errors: { message: string }[] };
      expect(errors.map(({ message }) => message)).toEqual(['PersistedQueryNotFound']);
      expect(unknown.headers['cache-control']).toBe('no-store');
      expect(dataOf(await sendBody({ query, ...byHash(query) }))).toEqual(ANNA);
      for (let time = 0; time < 3; time++)
        expect(dataOf(await post(service, byHash(query), { authorization, accept }))).toEqual(ANNA);
    },
  );

  it('can be registered and sent by GET', async () => {
    const query = newDocument();
    const extensions = JSON.stringify(byHash(query).extensions);
    expect(refusalOf(await get(service, { extensions }, { authorization }))).toEqual(UNKNOWN);
    expect(dataOf(await get(service, { query, extensions }, { authorization }))).toEqual(ANNA);
    expect(dataOf(await get(service, { extensions }, { authorization }))).toEqual(ANNA);
  });

  it.each([
    ['a version other than 1', persisted('0'.repeat(64), 2), 'extensions.persistedQuery.version'],
    ['no version', persisted('0'.repeat(64), null), 'extensions.persistedQuery.version'],
    ['no hash', persisted(undefined), 'extensions.persistedQuery.sha256Hash'],
    ['a hash that is no text', persisted(5), 'extensions.persistedQuery.sha256Hash'],
    ['a short hash', persisted('0'.repeat(63)), 'extensions.persistedQuery.sha256Hash'],
    ['a long hash', persisted('0'.repeat(99_000)), 'extensions.persistedQuery.sha256Hash'],
    ['a hash in capital letters', persisted('A'.repeat(64)), 'extensions.persistedQuery.sha256Hash'],
    ['a malformed documentId', { documentId: 'sha256:../x' }, 'documentId'],
    ['a documentId that is no hash', { documentId: 'members' }, 'documentId'],
    [
      'a persistedQuery that is no object',
      { extensions: { persistedQuery: 'x' } },
      'extensions.persistedQuery',
    ],
  ])('is rejected with %s', async (_what, body, argument) => {
    const answer = await sendBody(body);
    expect([...refusalOf(answer), argumentOf(answer)]).toEqual([400, 'BAD_USER_INPUT', argument]);
  });

  it('is not registered without a token', async () => {
    const query = '{ buildInfo { __typename } }';
    for (let time = 0; time < 2; time++) {
      expect((await post(service, { query, ...byHash(query) })).status).toBe(200);
      expect(refusalOf(await post(service, byHash(query)))).toEqual(UNKNOWN);
    }
  });
});
