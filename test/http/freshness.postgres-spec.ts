import { DataSource } from 'typeorm';
import { buildLdif } from '../support/builders/directory.js';
import { eventually } from '../support/eventually.js';
import { readStatus, stopFollowing } from '../support/clients/mirror.js';
import { TestService } from '../support/servers/service.js';

const PEOPLE = [{ id: 'anna', name: 'Anna' }, { id: 'ben' }];
const ID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;
const USER = '{ user(user: {id: "anna"}) { name } }';

interface FreshnessResponse {
  status: number;
  revision: string | null;
  asOf: string | null;
  codes: string[];
  extensions: Record<string, unknown> | undefined;
  retryAfter: string | null;
}

describe('the freshness of a response', () => {
  const service = TestService.forSuite({ ldif: buildLdif(PEOPLE, [{ id: 'club' }]), compared: false });
  let authorization: string;

  beforeAll(async () => {
    authorization = await service.serviceAccount('read', 'write', 'directory');
    // From here on, only the test confirms the mirror.
    await stopFollowing(service);
  });

  async function sendRequest(
    query: string,
    headers: Record<string, string> = {},
  ): Promise<FreshnessResponse> {
    const { status, errors, headers: fields } = await service.query(query, { authorization, headers });
    return {
      status,
      revision: fields.get('directory-revision'),
      asOf: fields.get('directory-as-of'),
      codes: errors.map(({ extensions }) => extensions.code),
      extensions: errors[0]?.extensions,
      retryAfter: fields.get('retry-after'),
    };
  }

  const readAsOf = async () => (await readStatus(service)).asOf;
  const makeOld = (seconds: number) =>
    service.app
      .get(DataSource)
      .query(`update mirror_state set as_of = now() - make_interval(secs => $1)`, [seconds]);

  /** On every path: first request, compiled, cached. */
  const WAYS: Record<string, string>[] = [{}, {}, {}, {}, { origin: 'https://pages.example' }];

  it.each([
    ['a person', USER],
    ['an unknown user', '{ user(user: {id: "nobody"}) { name } }'],
    ['a list', '{ groups(first: 1) { nodes { id } } }'],
    ['changes', '{ changes(first: 1) { nodes { kind } } }'],
    ['a preview', 'mutation { deleteGroup(input: {group: {id: "club"}}) { clientMutationId } }'],
  ])('is in the headers of a response about %s, on every path', async (_, query) => {
    const asOf = await readAsOf();
    for (const headers of WAYS) {
      const response = await sendRequest(query, headers);
      expect(response.revision).toMatch(ID);
      expect(response.asOf).toBe(asOf);
    }
  });

  it.each([
    '{ buildInfo { version } }',
    '{ directoryStatus { state } }',
    '{ currentToken { kind } }',
    '{ no }',
  ])('is not in a response without data of the directory: %s', async (query) =>
    expect(await sendRequest(query)).toMatchObject({ revision: null, asOf: null }),
  );

  it('increases with every confirmation, for cached responses, too, and the revision with every change', async () => {
    for (let time = 0; time < 4; time++) await sendRequest(USER);
    const before = await sendRequest(USER);
    expect((await service.synchronize()).kind).toBe('unchanged');
    const confirmed = await readAsOf();
    expect(Date.parse(confirmed ?? '')).toBeGreaterThan(Date.parse(before.asOf ?? ''));
    await eventually(async () => {
      const { revision, asOf } = await sendRequest(USER);
      return [revision, asOf];
    }, [before.revision, confirmed]);
    service.replaceDirectory(buildLdif([{ id: 'anna', name: 'Anne' }, { id: 'ben' }], [{ id: 'club' }]));
    expect((await service.synchronize()).kind).toBe('applied');
    const after = await sendRequest(USER);
    expect(after.revision).toMatch(ID);
    expect(after.revision).not.toBe(before.revision);
    expect(after.asOf).toBe(await readAsOf());
  });

  describe('is bounded by Directory-Max-Staleness:', () => {
    it('a fresh mirror is served, and an old one causes 503 STALE, on every path', async () => {
      expect((await service.synchronize()).kind).toBe('unchanged');
      for (let time = 0; time < 4; time++) {
        expect(await sendRequest(USER, { 'directory-max-staleness': '3600' })).toMatchObject({
          status: 200,
          codes: [],
        });
      }
      await makeOld(7200);
      await eventually(
        async () => (await sendRequest(USER, { 'directory-max-staleness': '3600' })).status,
        503,
      );
      for (const query of [USER, '{ buildInfo { version } groups(first: 1) { nodes { id } } }']) {
        for (let time = 0; time < 3; time++) {
          const response = await sendRequest(query, { 'directory-max-staleness': '3600' });
          expect(response).toMatchObject({ status: 503, codes: ['STALE'], retryAfter: '1' });
          expect(response.extensions).toMatchObject({ maxStaleness: 3600 });
          expect(Number(response.extensions?.['ageSeconds'])).toBeGreaterThanOrEqual(7200);
        }
      }
      expect(await sendRequest(USER)).toMatchObject({ status: 200, asOf: await readAsOf() });
      expect((await sendRequest(USER, { 'directory-max-staleness': '86400' })).status).toBe(200);
    });

    it.each(['', '-1', '1.5', 'ten', '1, 2', '1e3', '123456789012'])('%p is malformed', async (value) => {
      for (const query of [USER, '{ buildInfo { version } }']) {
        expect(await sendRequest(query, { 'directory-max-staleness': value })).toMatchObject({
          status: 400,
          codes: ['BAD_REQUEST'],
        });
      }
    });
  });
});
