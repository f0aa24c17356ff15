import fc from 'fast-check';
import { compareEntries, isEmpty, planChanges, type Plan, type Stored } from './plan.js';
import type { Person, Rank, RelatedGroup, Snapshot } from './snapshot.js';

const NOTHING_STORED: Stored = {
  people: new Map(),
  groups: new Map(),
  members: new Map(),
  nested: new Map(),
};

function person(uuid: string, name = uuid): Person {
  return {
    uuid,
    dn: `uid=${uuid}`,
    id: uuid,
    name,
    givenName: null,
    familyName: null,
    email: null,
    schoolYear: null,
    photo: null,
    picture: null,
    createdAt: null,
  };
}

function group(uuid: string, members: [string, Rank][], nested: [string, Rank][] = []): RelatedGroup {
  return {
    uuid,
    dn: `cn=${uuid}`,
    id: uuid,
    name: uuid,
    description: null,
    website: null,
    email: null,
    createdAt: null,
    members: new Map(members),
    nested: new Map(nested),
  };
}

function snapshot(people: Person[], groups: RelatedGroup[] = []): Snapshot {
  return {
    people: new Map(people.map((each) => [each.uuid, each])),
    groups: new Map(groups.map((each) => [each.uuid, each])),
    quarantined: [],
    skipped: { dangling: 0, placeholders: 0, cyclic: 0 },
  };
}

function plan(wanted: Snapshot, stored: Stored): Plan {
  return planChanges(compareEntries(wanted, stored), stored);
}

/** What is stored once a snapshot has been taken over. */
function storedOf(taken: Snapshot): Stored {
  const { createdPeople, createdGroups } = plan(taken, NOTHING_STORED);
  const rows = (created: readonly { value: { uuid: string; id: string }; contentHash: Buffer }[]) =>
    new Map(
      created.map(({ value: { uuid, id }, contentHash }) => [uuid, { uuid, id, contentHash }] as const),
    );
  return {
    people: rows(createdPeople),
    groups: rows(createdGroups),
    members: new Map([...taken.groups].map(([uuid, { members }]) => [uuid, members])),
    nested: new Map([...taken.groups].map(([uuid, { nested }]) => [uuid, nested])),
  };
}

describe('a plan', () => {
  it('makes everything on the first run', () => {
    const { createdPeople, createdGroups, memberships, nestings } = plan(
      snapshot([person('anna')], [group('club', [['anna', 3]], [['team', 1]]), group('team', [])]),
      NOTHING_STORED,
    );
    expect(createdPeople.map(({ value }) => value.uuid)).toEqual(['anna']);
    expect(createdGroups.map(({ value }) => value.uuid)).toEqual(['club', 'team']);
    expect(memberships).toEqual([{ group: 'club', subject: 'anna', before: null, after: 3 }]);
    expect(nestings).toEqual([{ group: 'club', subject: 'team', before: null, after: 1 }]);
  });

  it('names what is new, changed and gone, and nothing else', () => {
    const before = snapshot(
      [person('anna'), person('ben'), person('cleo')],
      [
        group('club', [
          ['anna', 1],
          ['ben', 1],
          ['cleo', 1],
        ]),
        group('team', [['anna', 1]]),
      ],
    );
    const after = snapshot(
      [person('anna', 'Anna'), person('cleo'), person('dan')],
      [
        group('club', [
          ['anna', 3],
          ['cleo', 1],
          ['dan', 1],
        ]),
      ],
    );
    const changes = plan(after, storedOf(before));
    expect(changes.createdPeople.map(({ value }) => value.uuid)).toEqual(['dan']);
    expect(changes.updatedPeople.map(({ value }) => value.uuid)).toEqual(['anna']);
    expect(changes.deletedPeople.map(({ uuid }) => uuid)).toEqual(['ben']);
    expect(changes.updatedGroups.map(({ value }) => value.uuid)).toEqual(['club']);
    expect(changes.deletedGroups.map(({ uuid }) => uuid)).toEqual(['team']);
    expect(changes.memberships).toEqual([
      { group: 'club', subject: 'anna', before: 1, after: 3 },
      { group: 'club', subject: 'dan', before: null, after: 1 },
      { group: 'club', subject: 'ben', before: 1, after: null },
      { group: 'team', subject: 'anna', before: 1, after: null },
    ]);
  });

  it('sees a changed value in every attribute', () => {
    const stored = storedOf(snapshot([person('anna')]));
    const changes: Partial<Person>[] = [
      { dn: 'uid=x' },
      { id: 'x' },
      { name: 'x' },
      { givenName: 'x' },
      { familyName: 'x' },
      { email: 'x' },
      { schoolYear: 'x' },
      { photo: Buffer.from('x') },
      { picture: Buffer.from('x') },
      { createdAt: new Date(0) },
    ];
    for (const change of changes) {
      const { updatedPeople } = plan(snapshot([{ ...person('anna'), ...change }]), stored);
      expect({ change, updated: updatedPeople.length }).toEqual({ change, updated: 1 });
    }
  });

  it('does not confuse a value of one attribute with the same value of another', () => {
    const stored = storedOf(snapshot([{ ...person('anna'), givenName: 'x' }]));
    expect(plan(snapshot([{ ...person('anna'), familyName: 'x' }]), stored).updatedPeople).toHaveLength(1);
  });

  const roles = fc.uniqueArray(
    fc.tuple(fc.constantFrom('anna', 'ben', 'cleo', 'dan'), fc.constantFrom<Rank>(1, 2, 3)),
    { selector: ([subject]) => subject },
  );
  const directories = fc
    .tuple(fc.subarray(['anna', 'ben', 'cleo', 'dan']), fc.dictionary(fc.constantFrom('club', 'team'), roles))
    .map(([people, groups]) =>
      snapshot(
        people.map((uuid) => person(uuid)),
        Object.entries(groups).map(([uuid, members]) => group(uuid, members)),
      ),
    );

  it('is empty exactly where the directory is what is stored', () => {
    fc.assert(
      fc.property(directories, directories, (before, after) => {
        expect(isEmpty(plan(before, storedOf(before)))).toBe(true);
        const contents = ({ people, groups }: Snapshot) => ({
          people,
          groups: new Map([...groups].map(([uuid, { members }]) => [uuid, new Map([...members].sort())])),
        });
        const isSame = JSON.stringify(toPlain(contents(before))) === JSON.stringify(toPlain(contents(after)));
        expect(isEmpty(plan(after, storedOf(before)))).toBe(isSame);
      }),
      { numRuns: 200 },
    );
  });

  it('turns what is stored into what is wanted', () => {
    fc.assert(
      fc.property(directories, directories, (before, after) => {
        const members = new Map([...before.groups].map(([uuid, each]) => [uuid, new Map(each.members)]));
        for (const { group: uuid, subject, after: role } of plan(after, storedOf(before)).memberships) {
          const inGroup = members.get(uuid) ?? new Map<string, Rank>();
          if (role === null) inGroup.delete(subject);
          else inGroup.set(subject, role);
          members.set(uuid, inGroup);
        }
        for (const [uuid, inGroup] of members) {
          expect(inGroup).toEqual(new Map(after.groups.get(uuid)?.members ?? []));
        }
      }),
      { numRuns: 200 },
    );
  });

  it('has a hash that does not depend on the order in which the directory was read', () => {
    const people = [person('anna'), person('ben')];
    const groups = [
      group('club', [
        ['anna', 1],
        ['ben', 2],
      ]),
      group('team', [['ben', 1]]),
    ];
    const reversed = [
      group('team', [['ben', 1]]),
      group('club', [
        ['ben', 2],
        ['anna', 1],
      ]),
    ];
    expect(plan(snapshot([...people].reverse(), reversed), NOTHING_STORED).hash).toBe(
      plan(snapshot(people, groups), NOTHING_STORED).hash,
    );
  });

  it('has another hash for other changes', () => {
    const stored = storedOf(snapshot([person('anna'), person('ben')]));
    const hashes = [snapshot([]), snapshot([person('anna')]), snapshot([person('ben')])].map(
      (wanted) => plan(wanted, stored).hash,
    );
    expect(new Set(hashes).size).toBe(3);
  });
});

/** Maps as sorted arrays, so that two of them can be compared whatever their order. */
function toPlain(value: unknown): unknown {
  if (!(value instanceof Map)) {
    return typeof value === 'object' && value !== null
      ? Object.fromEntries(Object.entries(value).map(([key, each]) => [key, toPlain(each)]))
      : value;
  }
  return [...(value as Map<string, unknown>)].map(([key, each]) => [key, toPlain(each)]).sort();
}
