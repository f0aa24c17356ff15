import { DataSource } from 'typeorm';
import { CONFIG } from '../../src/config/config.module.js';
import type { Config } from '../../src/config/config.js';
import type { Writer } from '../../src/database/statements/statement.js';
import { Entry } from '../../src/ldap/entry.js';
import { PictureStore } from '../../src/mirror/apply/picture-store.js';
import { readSnapshot } from '../../src/mirror/sync/read-entries.js';
import type { Plan } from '../../src/mirror/plan/plan.js';
import { planDelta, planWhole } from '../../src/mirror/plan/planning.js';
import { groupDn, personDn } from '../support/builders/directory.js';
import { modelSetting } from '../support/builders/model-file.js';
import { stopFollowing } from '../support/clients/mirror.js';
import { TestService } from '../support/servers/service.js';

/** More members than are compared one by one. */
const MEMBERS = 3000;
const OTHERS = 50;

type Attributes = readonly (readonly [name: string, value: string])[];

interface TestEntry {
  readonly kind: 'person' | 'group';
  readonly dn: string;
  readonly attributes: Attributes;
}

/** Entries by entryUUID. */
type Directory = ReadonlyMap<string, TestEntry>;

const ids = Array.from({ length: MEMBERS + OTHERS }, (_, index) => `p${index}`);
const uuidOf = (id: string) => {
  const number = id === 'crowd' ? 900_001 : id === 'team' ? 900_002 : Number(id.slice(1));
  return `00000000-0000-4000-8000-${String(number).padStart(12, '0')}`;
};
const person = (id: string, uid = id): TestEntry => ({
  kind: 'person',
  dn: personDn(uid),
  attributes: [
    ['objectClass', 'inetOrgPerson'],
    ['uid', uid],
    ['cn', id],
    ['sn', id],
  ],
});
const group = (id: string, values: Attributes): TestEntry => ({
  kind: 'group',
  dn: groupDn(id),
  attributes: [['objectClass', 'groupOfNames'], ['cn', id], ...values],
});

const NAMINGS: readonly { by: string; model: string; member: (id: string) => Attributes[number] }[] = [
  { by: 'DN', model: '{}', member: (id) => ['member', personDn(id)] },
  {
    by: 'id',
    model:
      'groups: {members: {attribute: memberUid, by: id}, admins: {attribute: groupAdmin}, owners: {attribute: owner}}',
    member: (id) => ['memberUid', id],
  },
];

describe.each(NAMINGS)('a large group whose members are named by $by', ({ model, member }) => {
  const owner = (id: string) => ['owner', personDn(id)] as const;
  const admin = (id: string) => ['groupAdmin', personDn(id)] as const;
  const crowd: Attributes = [
    ...ids.slice(0, MEMBERS).map(member),
    member('unknown'),
    admin('p1'),
    owner('p2'),
    owner('unknown'),
    ['owner', groupDn('crowd')],
  ];
  const withCrowd = (...entries: Attributes) => [
    ...crowd.map(([name, value]) => [name, value] as const),
    ...entries,
  ];
  const start: Directory = new Map<string, TestEntry>([
    ...ids.map((id) => [uuidOf(id), person(id)] as const),
    [uuidOf('crowd'), group('crowd', crowd)],
    [uuidOf('team'), group('team', [member('p0'), member('p5')])],
  ]);
  const without = (...left: Attributes) =>
    crowd.filter(([name, value]) => !left.some((each) => each[0] === name && each[1] === value));
  let service: TestService;

  beforeAll(async () => {
    service = await TestService.start({ ldif: ldifOf(start), environment: modelSetting(model) });
    await stopFollowing(service);
  });

  afterAll(async () => {
    await service.stop();
  });

  const newcomer = ids[MEMBERS] ?? '';
  const changed = (values: Attributes) => [uuidOf('crowd'), group('crowd', values)] as const;
  const CHANGES: Record<string, Changes> = {
    'a member joins': [changed(withCrowd(member(newcomer)))],
    'a member leaves': [changed(without(member('p7')))],
    'a member becomes an admin, and an admin only a member': [
      changed([...without(admin('p1')), admin('p3')]),
    ],
    'an owner who stays a member': [changed(without(owner('p2')))],
    'a member who stays the owner': [changed(without(member('p2')))],
    'an admin who is no member': [changed([...without(admin('p1'), member('p1'))])],
    'a group, the group itself and unknown entries': [
      changed([
        ...without(owner('unknown')),
        owner('team'),
        ['owner', groupDn('team')],
        admin('nobody.else'),
        member('other'),
      ]),
    ],
    'a member who is renamed, while another one leaves': [
      [uuidOf('p8'), person('p8', 'renamed')],
      changed(without(member('p9'))),
    ],
    'a member who is renamed and named by the new name, while another one leaves': [
      [uuidOf('p8'), person('p8', 'renamed')],
      changed([...without(member('p8'), member('p9')), member('renamed')]),
    ],
    'two who exchange their ids, while another one leaves': [
      [uuidOf('p8'), person('p8', newcomer)],
      [uuidOf(newcomer), person(newcomer, 'p8')],
      changed(without(member('p9'))),
    ],
    'a member who is deleted, while another one joins': [
      [uuidOf('p8'), null],
      changed(withCrowd(member(newcomer))),
    ],
    'a user who appears under an unknown name, while one leaves': [
      ['00000000-0000-4000-8000-000000800000', person('p800000', 'unknown')],
      changed(without(member('p8'))),
    ],
    'most members at once': [changed(crowd.slice(MEMBERS - 100))],
    'members of a group that becomes small': [changed([member('p3')])],
    'the deletion of the group': [[uuidOf('crowd'), null]],
  };

  it.each(Object.entries(CHANGES))('is planned alone as with the whole directory: %s', async (_, changes) => {
    await expectSamePlan(service, start, changes);
  });

  it('is compared in the database: no statement returns a row for each member', async () => {
    expect(await countRows(service, CHANGES['a member joins'] ?? [])).toBeLessThan(10);
  });

  it('is mapped in steps, between which other work runs', async () => {
    let ticks = 0;
    let isRunning = true;
    const tick = () => {
      ticks++;
      if (isRunning) setImmediate(tick);
    };
    tick();
    await snapshotOf(service, new Map([[uuidOf('crowd'), group('crowd', crowd)]]));
    isRunning = false;
    expect(ticks).toBeGreaterThanOrEqual(MEMBERS / 1000);
  });
});

describe('a large group that its members name', () => {
  const naming = (id: string, isNaming = true): TestEntry => {
    const { attributes, ...others } = person(id);
    return { ...others, attributes: isNaming ? [...attributes, ['memberOf', groupDn('crowd')]] : attributes };
  };
  const crowd = [uuidOf('crowd'), group('crowd', [])] as const;
  const start: Directory = new Map<string, TestEntry>([
    ...ids.map((id, index) => [uuidOf(id), naming(id, index < MEMBERS)] as const),
    crowd,
  ]);
  const newcomer = ids[MEMBERS] ?? '';
  const service = TestService.forSuite(() => ({
    ldif: ldifOf(start),
    environment: modelSetting('users: {memberOf: memberOf}\ngroups: {members: {attribute: []}}'),
  }));

  beforeAll(() => stopFollowing(service));

  it.each([
    ['a member joins', [[uuidOf(newcomer), naming(newcomer)], crowd]],
    ['a member leaves', [[uuidOf('p7'), naming('p7', false)], crowd]],
    ['a member is deleted', [[uuidOf('p7'), null], crowd]],
  ] as const)('is planned alone as with the whole directory: %s', async (_, changes) => {
    await expectSamePlan(service, start, changes);
    expect(await countRows(service, changes)).toBeLessThan(10);
  });
});

type Changes = readonly (readonly [uuid: string, entry: TestEntry | null])[];

async function expectSamePlan(service: TestService, start: Directory, changes: Changes): Promise<void> {
  const after = new Map(start);
  for (const [uuid, entry] of changes)
    if (entry === null) after.delete(uuid);
    else after.set(uuid, entry);
  const { manager } = service.app.get(DataSource);
  const { mapping } = service.app.get<Config>(CONFIG).directory;
  const { plan } = await planWhole(manager, await snapshotOf(service, after), mapping);
  const snapshot = await snapshotOf(service, new Map(changes));
  const delta = await planDelta(manager, snapshot, extentOf(changes), mapping);
  expect(summaryOf(delta)).toEqual(summaryOf(plan));
  expect(delta.memberships.length + delta.nestings.length).toBeGreaterThan(0);
}

/** The largest number of rows that a statement returns while changes are planned. */
async function countRows(service: TestService, changes: Changes): Promise<number> {
  const { manager } = service.app.get(DataSource);
  const { mapping } = service.app.get<Config>(CONFIG).directory;
  const counts: number[] = [];
  const counting = {
    query: async (text: string, values: unknown[]) => {
      const rows: unknown[] = await manager.query(text, values);
      counts.push(rows.length);
      return rows;
    },
  } as Writer;
  await planDelta(counting, await snapshotOf(service, new Map(changes)), extentOf(changes), mapping);
  return Math.max(...counts);
}

function extentOf(changes: Changes) {
  const of = (isThere: boolean) => changes.filter(([, entry]) => (entry !== null) === isThere);
  const isGroup = (uuid: string) => uuid === uuidOf('crowd') || uuid === uuidOf('team');
  const present = of(true).map(([uuid]) => uuid);
  const gone = of(false).map(([uuid]) => uuid);
  return {
    people: new Map(present.filter((uuid) => !isGroup(uuid)).map((uuid) => [uuid, null])),
    groups: new Map(present.filter(isGroup).map((uuid) => [uuid, null])),
    gonePeople: new Set(gone.filter((uuid) => !isGroup(uuid))),
    goneGroups: new Set(gone.filter(isGroup)),
  };
}

async function snapshotOf(service: TestService, directory: ReadonlyMap<string, TestEntry | null>) {
  const entries = [...directory].flatMap(([uuid, each]) =>
    each === null ? [] : [{ kind: each.kind, entry: entryOf(uuid, each) }],
  );
  const dataSource = service.app.get(DataSource);
  const { mapping } = service.app.get<Config>(CONFIG).directory;
  return readSnapshot(entries, mapping, new PictureStore(dataSource), new AbortController().signal);
}

function entryOf(uuid: string, { dn, attributes }: TestEntry): Entry {
  const values = [...attributes, ['entryUUID', uuid] as const];
  return new Entry(
    dn,
    values.map(([name, value]) => [name, [Buffer.from(value)]]),
  );
}

function ldifOf(directory: Directory): string {
  const records = [...directory].map(([uuid, { dn, attributes }]) =>
    [
      `dn: ${dn}`,
      ...[...attributes, ['entryUUID', uuid] as const].map(([name, value]) => `${name}: ${value}`),
      '',
    ].join('\n'),
  );
  return ['version: 1\n', ...records].join('\n');
}

/** What a plan changes, without the order. */
function summaryOf({ hash, unresolved, regrouped }: Plan) {
  const texts = unresolved.map(({ group: uuid, dnKey, after }) => `${uuid} ${dnKey} ${after ?? ''}`);
  return [hash, texts.sort(), regrouped.map(({ value }) => value.uuid).sort()];
}
