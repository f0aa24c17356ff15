import { setTimeout as sleep } from 'node:timers/promises';
import sharp from 'sharp';
import { modelSetting } from '../../support/builders/model-file.js';
import { eventually, LONGEST_WAIT, isEqual } from '../../support/eventually.js';
import { type BehaviorDirectory, differencesOf, readExpected, type Swap } from './behavior-directory.js';
import { BehaviorService } from './behavior-service.js';

/** What `sync --dry-run --json` prints. */
interface PlannedChanges {
  readonly users: PlannedEntries;
  readonly groups: PlannedEntries;
  readonly memberships: unknown;
  readonly nestings: unknown;
  readonly quarantined: unknown;
}

type PlannedEntries = Readonly<Record<'created' | 'deleted', readonly { readonly id: string }[]>>;

type Change = (...ldif: string[]) => Promise<void>;

/** More users than a page has, and more than the deletion guard allows to delete. */
const CROWD_SIZE = 520;
const photo = (red: number) =>
  sharp({ create: { width: 4, height: 4, channels: 3, background: { r: red, g: 0, b: 0 } } })
    .jpeg()
    .toBuffer();

/** Deletes entries while a service has an account that sees deleted entries. */
export async function withoutDeleted(
  directory: BehaviorDirectory,
  change: Change,
  service: BehaviorService,
): Promise<void> {
  const { person, personDn, group, groupDn } = directory.vocabulary;
  await change(person('temporary', {}), group('brief', [personDn('temporary')]));
  const readBrief = async () => (await service.readShown()).groups['brief'];
  await eventually(readBrief, ['temporary']);
  await change(
    `dn: ${personDn('temporary')}\nchangetype: delete\n`,
    `dn: ${groupDn('brief')}\nchangetype: delete\n`,
  );
  await eventually(async () => {
    const { users, groups } = await service.readShown();
    return [users['temporary'], groups['brief']];
  }, [undefined, undefined]);
  await eventually(service.readState, 'IDLE');
}

/**
 * The same behaviors on each kind of server. After each, the mirror equals a dump by tools that are not of this project.
 * @param others further changes of this kind of server, by the end of the name of their test
 */
export function describeBehaviors(
  start: () => Promise<BehaviorDirectory>,
  others: Readonly<Record<string, (directory: BehaviorDirectory, change: Change) => Promise<void>>> = {},
): void {
  let directory: BehaviorDirectory;
  let crowd: readonly string[];
  let service: BehaviorService;
  let lagging: Swap | null = null;
  const { change, records } = {
    change: async (...ldif: string[]) => {
      const { code, stderr } = await directory.server.modify(ldif.join('\n'));
      if (code !== 0) throw new Error(`ldapmodify: ${stderr}`);
    },
    records: () => directory.vocabulary,
  };

  beforeAll(async () => {
    directory = await start();
    crowd = Array.from({ length: directory.crowdSize ?? CROWD_SIZE }, (_, index) => `crowd-${index}`);
    const { person, group, personDn, groupDn, innerDn } = records();
    const container = `dn: ${innerDn}\nchangetype: add\nobjectClass: organizationalUnit\n`;
    await change(
      container,
      person('ann', { photo: await photo(31) }),
      person('ben', {}),
      records().disable('ben'),
      person('cleo', {}),
      ...crowd.map((id) => person(id, {})),
      group('choir', [personDn('ann'), personDn('ben')]),
      group('school', [groupDn('choir'), ...crowd.map(personDn)]),
      group('staff', [personDn('cleo')]),
    );
    service = await BehaviorService.start(directory.settings);
  });

  afterAll(async () => {
    await service.stop();
    await directory.server.remove();
  });

  afterEach(async () => {
    await untilEqual();
  });

  async function untilEqual(): Promise<void> {
    const latest = performance.now() + LONGEST_WAIT / 4;
    const expected = await readExpected(directory);
    const read = async () => [differencesOf(await service.readShown(), expected), await service.readStatus()];
    const wanted = [[], { state: 'IDLE', reason: null, plan: null }];
    while (performance.now() < latest && !isEqual(await read(), wanted)) await sleep(200);
    const found = await read();
    if (!isEqual(found, wanted)) console.error(service.log);
    expect(found).toEqual(wanted);
  }

  const setMember = (operation: 'add' | 'delete', group: string, dn: string) => {
    const [attribute = ''] = records().members;
    return `dn: ${records().groupDn(group)}\nchangetype: modify\n${operation}: ${attribute}\n${attribute}: ${dn}\n`;
  };
  const replace = (id: string, attribute: string, value: string) =>
    `dn: ${records().personDn(id)}\nchangetype: modify\nreplace: ${attribute}\n${attribute}:: ${Buffer.from(value).toString('base64')}\n`;

  it('shows users, groups, nested groups, photos and disabled accounts after the first reading', async () => {
    const { users, groups } = await service.readShown();
    expect(users['ann']).toMatchObject({ photo: expect.any(String) as string, active: true });
    expect(users['ben']).toMatchObject({ photo: null, active: false });
    expect(groups['school']).toHaveLength(crowd.length + 2);
  });

  it('shows entries that are added, changed, renamed, moved and deleted', async () => {
    const { person, personDn, rename, innerDn } = records();
    await change(person('dora', {}), person('emil', {}), person('finn', {}));
    await change(replace('dora', 'displayName', 'Dora Ä. 道'), setMember('add', 'choir', personDn('dora')));
    const rdn = personDn('finn').replace(/,.*/s, '');
    await change(
      rename('emil', 'emilia'),
      `dn: ${personDn('finn')}\nchangetype: modrdn\nnewrdn: ${rdn}\ndeleteoldrdn: 1\nnewsuperior: ${innerDn}\n`,
      `dn: ${personDn('cleo')}\nchangetype: modify\nreplace: sn\nsn: Last\n`,
    );
    await change(`dn: ${personDn('dora')}\nchangetype: delete\n`);
  });

  it('shows a changed photo and a disabled account', async () => {
    const { photo: attribute } = records();
    const dn = records().personDn('ann');
    const encoded = (await photo(170)).toString('base64');
    await change(
      `dn: ${dn}\nchangetype: modify\nreplace: ${attribute}\n${attribute}:: ${encoded}\n`,
      records().disable('cleo'),
    );
  });

  it('shows changes of nested groups, also of groups that contain each other and themselves', async () => {
    const { group, groupDn, personDn } = records();
    await change(group('inner', [personDn('ann')]), setMember('add', 'staff', groupDn('inner')));
    await change(setMember('add', 'inner', groupDn('staff')), setMember('add', 'choir', personDn('cleo')));
    await change(setMember('add', 'inner', groupDn('inner'))).catch((error: unknown) => {
      // Active Directory refuses a group as its own member ([MS-ADTS] 3.1.1.5.3.2).
      expect(String(error)).toMatch(/ldapmodify/);
    });
    await change(setMember('delete', 'choir', personDn('ben')));
  });

  for (const [title, make] of Object.entries(others))
    it(`shows ${title}`, async () => {
      await make(directory, change);
    });

  it('shows one change of a large group', async () => {
    await change(setMember('delete', 'school', records().personDn(crowd.at(-1) ?? '')));
  });

  it('serves while the server is away, and shows what changed while the service was stopped and after the server was killed', async () => {
    const before = await service.readShown();
    await service.pause();
    const { person, personDn } = records();
    await change(
      person('gus', {}),
      setMember('add', 'staff', personDn('gus')),
      replace('ann', 'mail', 'a@example.org'),
    );
    await directory.server.stop('SIGKILL');
    if (directory.lag.of === 'stopped') lagging = directory.lag.prepare();
    await service.resume();
    expect(await service.readShown()).toEqual(before);
    await directory.server.start();
    await change(person('hana', {}));
  });

  it('loses nothing when a server that lags takes the place of the server and gives it back', async () => {
    if (directory.lag.of === 'running') lagging = await directory.lag.prepare();
    if (lagging === null) throw new Error('No server lags');
    try {
      const { person, personDn } = records();
      await change(person('ida', {}), setMember('add', 'staff', personDn('ida')));
      await untilShown('ida');
      const deleted = await service.countDeleted();
      await lagging.swap();
      if (directory.showsLag) {
        await untilNoticed();
        expect((await service.readShown()).groups['staff']).toContain('ida');
        expect(await service.countDeleted()).toBe(deleted);
      } else await untilEqual();
      await lagging.swap();
    } finally {
      lagging.remove();
    }
  });

  it('holds a mass deletion until it is confirmed', async () => {
    const gone = crowd.slice(0, crowd.length * 0.4);
    await change(...gone.map((id) => `dn: ${records().personDn(id)}\nchangetype: delete\n`));
    const readKept = async () => {
      const { users } = await service.readShown();
      return gone.filter((id) => users[id] !== undefined).length;
    };
    // The service may see a part of the deletions first, and apply as many as the guard allows: a twentieth of the users.
    await until(async () => {
      const kept = await readKept();
      return (await service.readStatus()).reason?.includes(`delete ${kept} of`) === true;
    });
    expect(await readKept()).toBeGreaterThan(gone.length - crowd.length / 15);
    // The server may still remove the users from their groups, which is another plan.
    await until(async () => {
      const { plan } = await service.readStatus();
      return (await service.run('sync', '--confirm', plan ?? '')).code === 0;
    });
  });

  it('is described by the suggested model, without an edit', async () => {
    const { code, stdout, stderr } = await service.run('model', '--suggest');
    expect([code, code === 0 ? '' : stdout + stderr]).toEqual([0, '']);
    const planned = await service.runWith(modelSetting(stdout), 'sync', '--dry-run', '--json');
    const { users, groups, memberships, nestings, quarantined } = JSON.parse(
      planned.stdout,
    ) as PlannedChanges;
    const changed = [users, groups].map(({ created, deleted }) =>
      [...created, ...deleted].map(({ id }) => id),
    );
    expect([...changed, memberships, nestings, quarantined]).toEqual([[], [], [], [], []]);
  });

  it('shows the members that the tool of the vendor lists', async () => {
    const { groups } = await service.readShown();
    for (const [group, members] of Object.entries((await directory.listMembers?.()) ?? {}))
      expect([group, groups[group]]).toEqual([group, members]);
  });

  const untilShown = (id: string) => until(async () => (await service.readShown()).users[id] !== undefined);

  /** The server is held to be behind, or a plan that would undo changes waits for a decision. */
  const untilNoticed = () =>
    until(async () => {
      const { state, reason } = await service.readStatus();
      return state === 'BLOCKED' || (state === 'FAILING' && reason?.includes('behind') === true);
    });

  async function until(holds: () => Promise<boolean>): Promise<void> {
    const latest = performance.now() + LONGEST_WAIT / 2;
    while (!(await holds())) {
      if (performance.now() > latest)
        throw new Error(`It did not come true: ${JSON.stringify(await service.readStatus())}`);
      await sleep(100);
    }
  }
}
