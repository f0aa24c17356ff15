import { DataSource } from 'typeorm';
import { buildLdif } from '../support/builders/directory.js';
import { statementsOf } from '../support/builders/statements.js';
import { TestService } from '../support/servers/service.js';

const PEOPLE = ['ada', 'ben', 'cleo'];

describe('an operation with a statement that takes too long', () => {
  const service = TestService.forSuite({
    ldif: buildLdif(
      PEOPLE.map((id) => ({ id })),
      [{ id: 'club', members: PEOPLE }],
    ),
    environment: { DATABASE_TIMEOUT_SECONDS: '1', RESPONSE_CACHE_MEGABYTES: '0' },
    compared: false,
  });

  it('sends it once, also when the operation is compiled', async () => {
    const authorization = await service.serviceAccount('read', 'directory');
    const query = '{ users(first: 3) { nodes { id groups(first: 1) { nodes { group { id } } } } } }';
    const send = () => service.query(query, { authorization });
    for (let times = 0; times < 3; times++) expect((await send()).errors).toEqual([]);

    const readsGroups = (text: string) => text.includes('effective_memberships');
    let codes: unknown[] = [];
    let sent: string[] = [];
    await service.app.get(DataSource).transaction(async (manager) => {
      await manager.query('lock table effective_memberships in access exclusive mode');
      const statements = await statementsOf(async () => {
        codes = (await send()).errors.map(({ extensions }) => extensions.code);
      });
      sent = statements.map(({ text }) => text).filter(readsGroups);
    });
    expect(new Set(codes)).toEqual(new Set(['TIMEOUT']));
    expect(codes.length).toBeGreaterThan(1);
    expect(sent).toHaveLength(1);
  });
});
