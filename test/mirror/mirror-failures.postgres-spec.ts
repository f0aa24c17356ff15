import { renameSync } from 'node:fs';
import { buildLdif, type TestPerson } from '../support/builders/directory.js';
import { readRevision, readStatus, replaceUntil } from '../support/clients/mirror.js';
import { TestService } from '../support/servers/service.js';

const PEOPLE: TestPerson[] = [
  { id: 'anna', name: 'Anna' },
  { id: 'ben', name: 'Ben' },
];
const GOOD = buildLdif(PEOPLE, [{ id: 'club', members: ['anna', 'ben'] }]);

describe('an invalid directory file', () => {
  const service = TestService.forSuite({ ldif: GOOD, environment: { DIRECTORY_SYNC_SECONDS: '1' } });
  let authorization: string;

  beforeAll(async () => {
    authorization = await service.serviceAccount('read', 'directory');
  });

  afterEach(async () => {
    await replaceUntil(service, GOOD, 'IDLE');
  });

  async function expectAllUsersAreServed(): Promise<void> {
    const data = await service.read(
      '{ users(first: 5) { nodes { name } } group(group: {id: "club"}) { members(first: 0) { totalCount } } }',
      { authorization },
    );
    expect(data).toEqual({
      users: { nodes: [{ name: 'Anna' }, { name: 'Ben' }] },
      group: { members: { totalCount: 2 } },
    });
  }

  it.each([
    ['an invalid line', 'dn: uid=secret\n\nconfidential\n', 'LDIF line 3: '],
    [
      'invalid base64',
      'version: 1\n\ndn: uid=x\ncn:: confidential!\n',
      'LDIF line 4: a value that is not base64',
    ],
    ['a change record', 'dn: uid=confidential\nchangetype: delete\n', 'LDIF line 2: a change record'],
    [
      'a duplicate DN',
      `${GOOD}\n${GOOD.split('\n').slice(2).join('\n')}`,
      'a dn that occurs in the file already',
    ],
  ])('with %s is rejected with the line, and responses stay the same', async (_, ldif, reason) => {
    const revision = await readRevision(service);
    const { asOf } = await readStatus(service);
    const status = await replaceUntil(service, ldif, 'FAILING');
    expect(status.blockedReason).toContain(reason);
    expect(status.blockedReason).not.toMatch(/confidential|secret/);
    expect(status.asOf).toBe(asOf);
    await expectAllUsersAreServed();

    expect(await replaceUntil(service, GOOD, 'IDLE')).toMatchObject({ blockedReason: null });
    expect(await readRevision(service)).toBe(revision);
  });

  it('that is missing makes synchronization fail until it is back', async () => {
    const file = service.directoryFile;
    renameSync(file, `${file}.away`);
    await service.until(async () => (await readStatus(service)).state === 'FAILING');
    const { blockedReason } = await readStatus(service);
    expect(blockedReason).toBe('The directory file does not exist, or cannot be read');
    await expectAllUsersAreServed();

    renameSync(`${file}.away`, file);
    await service.until(async () => (await readStatus(service)).state === 'IDLE');
  });

  it.each([
    ['nothing', ''],
    ['no users', 'version: 1\n'],
    ['groups only', buildLdif([], [{ id: 'club' }])],
  ])('with %s is held, and all users are still served', async (_, ldif) => {
    const status = await replaceUntil(service, ldif, 'BLOCKED');
    expect(status.blockedReason).toBe('The directory no longer contains users');
    await expectAllUsersAreServed();
  });
});
