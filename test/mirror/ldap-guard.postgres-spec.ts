import { Logger } from '@nestjs/common';
import { BASE_DN, buildLdif, personDn } from '../support/builders/directory.js';
import { eventually } from '../support/eventually.js';
import { directorySettings, FollowedDirectory } from '../support/servers/ldap.js';
import { TestService } from '../support/servers/service.js';
import { countDeletions, readIds, readPeople } from '../support/builders/ldap-mirror.js';
import { readStatus } from '../support/clients/mirror.js';
import { MIRROR_DN, startSlapd, type TestSlapd } from '../support/servers/slapd.mjs';

/** Of forty, two may be deleted within ten minutes, and three in any case. */
const PEOPLE = Array.from({ length: 30 }, (_, index) => `p${index + 10}`);
const CLASS = Array.from({ length: 10 }, (_, index) => `c${index + 10}`);
const YEAR = `ou=2026,ou=people,${BASE_DN}`;
const ALL_USERS = [...PEOPLE, ...CLASS].sort();

const LDIF = [
  buildLdif(
    PEOPLE.map((id) => ({ id })),
    [{ id: 'club', members: PEOPLE }],
  ),
  `dn: ${YEAR}\nobjectClass: organizationalUnit\n`,
  ...CLASS.map(
    (id) => `dn: uid=${id},${YEAR}\nobjectClass: inetOrgPerson\nuid: ${id}\ncn: ${id}\nsn: ${id}\n`,
  ),
].join('\n');

const OPEN = [
  'access to attrs=userPassword by anonymous auth by * none',
  `access to * by dn.exact="${MIRROR_DN}" read by * none`,
];
const hide = (what: string) => [OPEN[0] ?? '', `access to ${what} by * none`, OPEN[1] ?? ''];
const logged = jest.spyOn(Logger.prototype, 'log');
const remove = (id: string) => `dn: ${personDn(id)}\nchangetype: delete\n`;

describe('the deletion guard', () => {
  let directory: FollowedDirectory;

  beforeAll(async () => {
    directory = await FollowedDirectory.start({ ldif: LDIF });
  });

  afterAll(() => directory.stop());

  const readState = async () => {
    const { state, blockedReason } = await readStatus(directory.service);
    return [state, blockedReason];
  };

  it.each([
    [
      'a part of the people',
      `dn.subtree="${YEAR}"`,
      'It would delete 10 of 40 users: at most 3 are let through',
    ],
    ['all people', `dn.children="ou=people,${BASE_DN}"`, 'The directory no longer contains users'],
  ])(
    'holds the plan after a server hides %s, and releases it when they are visible again',
    async (_what, hidden, reason) => {
      const before = await readPeople(directory.service);
      await directory.slapd.restart({ acl: hide(hidden) });
      await eventually(readState, ['BLOCKED', reason]);
      expect(await readPeople(directory.service)).toEqual(before);
      await directory.slapd.restart({ acl: OPEN });
      await eventually(readState, ['IDLE', null]);
      // The line follows the commit that others see.
      await eventually(
        () =>
          Promise.resolve(
            logged.mock.calls
              .flat()
              .some((line) => /^No plan is blocked any more after \d+ s$/.test(String(line))),
          ),
        true,
      );
      expect(await readPeople(directory.service)).toEqual(before);
      expect(await countDeletions(directory.service)).toEqual({ people: 0, memberships: 0 });
    },
  );

  it('allows a few deletions one after another, and holds further ones', async () => {
    for (const [index, id] of ['p10', 'p11', 'p12'].entries()) {
      await directory.change(remove(id));
      await eventually(async () => (await readIds(directory.service)).length, ALL_USERS.length - index - 1);
    }
    await directory.change(remove('p13'));
    await eventually(readState, [
      'BLOCKED',
      'It would delete 1 of 37 users after 3 shortly before: at most 3 are let through',
    ]);
    expect((await readIds(directory.service)).length).toBe(ALL_USERS.length - 3);
  });

  it('holds all later changes, and applies them after the confirmation', async () => {
    logged.mockClear();
    await directory.change(
      remove('p14'),
      `dn: ${personDn('p20')}\nchangetype: modify\nreplace: displayName\ndisplayName: Anna\n`,
    );
    await eventually(readState, [
      'BLOCKED',
      'It would delete 2 of 37 users after 3 shortly before: at most 3 are let through',
    ]);
    const planned = await directory.service.synchronize({ dryRun: true });
    const confirm = planned.kind === 'planned' ? planned.hash : '';
    expect(await directory.service.synchronize({ confirm })).toMatchObject({ kind: 'applied' });
    expect(await readState()).toEqual(['IDLE', null]);
    expect(await readIds(directory.service)).toEqual(
      ALL_USERS.filter((id) => !['p10', 'p11', 'p12', 'p13', 'p14'].includes(id)),
    );
    await directory.change(
      `dn: uid=new,${YEAR}\nchangetype: add\nobjectClass: inetOrgPerson\nuid: new\ncn: new\nsn: new\n`,
    );
    await eventually(async () => (await readIds(directory.service)).includes('new'), true);
    expect(logged).toHaveBeenCalledWith(expect.stringMatching(/^No plan is blocked any more after \d+ s$/));
  });
});

describe('two servers of one setting with different content', () => {
  let first: TestSlapd;
  let second: TestSlapd;
  let service: TestService;

  beforeAll(async () => {
    first = await startSlapd({ ldif: LDIF });
    second = await startSlapd({ ldif: buildLdif([{ id: 'stranger' }, { id: 'p10' }]) });
    service = await TestService.start({
      environment: { ...directorySettings(first), DIRECTORY_URL: `${first.url} ${second.url}` },
    });
  });

  afterAll(async () => {
    await service.stop();
    await Promise.all([first.remove(), second.remove()]);
  });

  it('delete nothing while the second one answers, and the first one is followed again', async () => {
    expect(await readIds(service)).toEqual(ALL_USERS);
    await first.stop();
    await service.until(async () => {
      const { state, blockedReason } = await readStatus(service);
      return state === 'BLOCKED' || blockedReason?.includes('behind') === true;
    });
    expect(await readIds(service)).toEqual(ALL_USERS);
    await first.start();
    await eventually(async () => (await readStatus(service)).state, 'IDLE');
    expect(await readIds(service)).toEqual(ALL_USERS);
  });
});
