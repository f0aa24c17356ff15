import { MirrorState } from '../../src/mirror/status/mirror-state.js';
import { buildLdif, PICTURE, type TestGroup } from '../support/builders/directory.js';
import { readRevision, readStatus, replaceUntil, takeOver } from '../support/clients/mirror.js';
import { TestService } from '../support/servers/service.js';

/** A size of which three are more than 5 %. */
const PEOPLE = Array.from({ length: 40 }, (_, index) => `person-${String(index).padStart(2, '0')}`);
const GROUPS: TestGroup[] = [
  { id: 'all', members: PEOPLE.slice(20) },
  ...Array.from({ length: 10 }, (_, index) => ({ id: `group-${index}` })),
];

/** A directory in which the first users lack an attribute that all others have. */
function without(attribute: string, lacking: number): string {
  const [version = '', ...records] = buildLdif(
    PEOPLE.map((id) => ({
      id,
      givenName: 'Given',
      familyName: 'Family',
      email: `${id}@example.org`,
      schoolYear: '2030',
      photo: PICTURE,
      picture: PICTURE,
    })),
    GROUPS,
  ).split('\n\n');
  const lines = new RegExp(`^${attribute}::.*\n?`, 'gm');
  const kept = records.map((record, index) => (index < lacking ? record.replace(lines, '') : record));
  return [version, ...kept].join('\n\n');
}

describe('a directory that loses much at once', () => {
  let service: TestService;
  let authorization: string;

  beforeEach(async () => {
    service = await TestService.start({ ldif: ldifOf(PEOPLE, GROUPS) });
    authorization = await service.serviceAccount('read', 'directory');
  });

  afterEach(() => service.stop());

  function ldifOf(people: string[], groups: TestGroup[]): string {
    return buildLdif(
      people.map((id) => ({ id })),
      groups,
    );
  }

  async function count(kind: 'users' | 'groups'): Promise<number> {
    const { data } = await service.query<Record<string, { totalCount: number }>>(
      `{ ${kind}(first: 0) { totalCount } }`,
      { authorization },
    );
    return data?.[kind]?.totalCount ?? -1;
  }

  it('may lose three users; a fourth within the window is held until exactly that plan is confirmed', async () => {
    await takeOver(service, ldifOf(PEOPLE.slice(2), GROUPS));
    await takeOver(service, ldifOf(PEOPLE.slice(3), GROUPS));
    expect(await count('users')).toBe(37);

    const status = await replaceUntil(service, ldifOf(PEOPLE.slice(4), GROUPS), 'BLOCKED');
    expect(status.blockedReason).toBe(
      'It would delete 1 of 37 users after 3 shortly before. The guard permits 3 within 10 minutes',
    );
    expect(await count('users')).toBe(37);

    const { blockedPlan, revision } = await service.app.get(MirrorState).get();
    expect(await service.synchronize({ confirm: 'f'.repeat(64) })).toMatchObject({ kind: 'refused' });
    expect(await readStatus(service)).toEqual(status);
    expect(await readRevision(service)).toBe(revision);

    const confirm = blockedPlan ?? '';
    expect(await service.synchronize({ confirm })).toMatchObject({ kind: 'applied' });
    expect(await count('users')).toBe(36);
    expect(await readStatus(service)).toMatchObject({ state: 'IDLE', blockedReason: null });

    expect(await service.synchronize({ confirm })).toMatchObject({ kind: 'refused' });
    expect(await readRevision(service)).toBe((revision ?? 0) + 1);
  });

  it('is held with all changes of the same plan, and continues when the entries are back', async () => {
    const renamed = buildLdif(
      PEOPLE.slice(10).map((id) => ({ id, name: `New ${id}` })),
      GROUPS,
    );
    const revision = await readRevision(service);
    await replaceUntil(service, renamed, 'BLOCKED');
    const data = await service.read('{ users(first: 1) { nodes { name } } }', { authorization });
    expect(data).toEqual({ users: { nodes: [{ name: 'person-00' }] } });

    await replaceUntil(service, ldifOf(PEOPLE, GROUPS), 'IDLE');
    expect(await readRevision(service)).toBe(revision);
  });

  it('may lose three groups and three members, but not four of either', async () => {
    const membersOf = (kept: number) => [{ id: 'all', members: PEOPLE.slice(20, 20 + kept) }];
    await takeOver(service, ldifOf(PEOPLE, [...membersOf(17), ...GROUPS.slice(4)]));
    expect(await count('groups')).toBe(8);
    for (const [fewer, what] of [
      [[...membersOf(17), ...GROUPS.slice(5)], '1 of 8 groups'],
      [[...membersOf(16), ...GROUPS.slice(4)], '1 of 17 memberships'],
    ] as const) {
      const { blockedReason } = await replaceUntil(service, ldifOf(PEOPLE, [...fewer]), 'BLOCKED');
      expect(blockedReason).toContain(`It would delete ${what} after 3 shortly before`);
      await replaceUntil(service, ldifOf(PEOPLE, [...membersOf(17), ...GROUPS.slice(4)]), 'IDLE');
    }
  });

  it('is held for each attribute of users, and continues when the attribute is back', async () => {
    await takeOver(service, without('mail', 0));
    const revision = await readRevision(service);
    for (const attribute of ['givenName', 'sn', 'mail', 'schoolYear', 'jpegPhoto', 'profilePicture']) {
      service.replaceDirectory(without(attribute, 40));
      expect(await service.synchronize({ dryRun: true })).toMatchObject({
        kind: 'planned',
        reason: `It would take the attribute ${attribute} from 40 of 40 users. The guard permits 3 within 10 minutes`,
      });
    }
    await replaceUntil(service, without('mail', 40), 'BLOCKED');
    await replaceUntil(service, without('mail', 0), 'IDLE');
    expect(await readRevision(service)).toBe(revision);
  });

  it('is held when entries lose an attribute one after another, until exactly that plan is confirmed', async () => {
    await takeOver(service, without('mail', 0));
    await takeOver(service, without('mail', 2));
    await takeOver(service, without('mail', 3));
    const { blockedReason } = await replaceUntil(service, without('mail', 4), 'BLOCKED');
    expect(blockedReason).toBe(
      'It would take the attribute mail from 1 of 37 users after 3 shortly before. The guard permits 3 within 10 minutes',
    );
    const { blockedPlan } = await service.app.get(MirrorState).get();
    expect(await service.synchronize({ confirm: blockedPlan ?? '' })).toMatchObject({ kind: 'applied' });
    // Confirmed losses do not count; earlier ones still do.
    const next = await replaceUntil(service, without('mail', 5), 'BLOCKED');
    expect(next.blockedReason).toMatch(
      /^It would take the attribute mail from 1 of 36 users after 3 shortly/,
    );
  });
});
