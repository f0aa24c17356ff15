import fc from 'fast-check';
import { builtInConfig } from '../../../test/support/builders/built-in-config.js';
import { group, person, snapshot } from '../../../test/support/builders/snapshot.js';
import { compareEntries, planChanges, type StoredReference } from './make-plan.js';
import { isEmpty, type Plan } from './plan.js';
import { subjectsOf } from '../map/relate.js';
import type { MappedPerson, NamedAs, Snapshot } from '../map/snapshot.js';

const { mapping } = builtInConfig().directory;
const NOBODY = snapshot([]);

/** Returns the plan from one state of a directory to another. */
function plan(wanted: Snapshot, taken = NOBODY): Plan {
  const all = { people: new Map(), groups: new Map() };
  const { people, groups } = compareEntries(taken, all, mapping);
  const stored = {
    people: new Map(people.created.map((each) => [each.value.uuid, { ...each.value, ...each }])),
    groups: new Map(groups.created.map((each) => [each.value.uuid, { ...each.value, ...each }])),
  };
  const comparison = compareEntries(wanted, stored, mapping);
  return planChanges(comparison, referencesOf(taken), subjectsOf(wanted));
}

/** Returns the references of groups as the mirror stores them. */
function referencesOf(taken: Snapshot): StoredReference[] {
  const subjects = subjectsOf(taken);
  return [...taken.groups.values()].flatMap(({ uuid, references }) =>
    [...references].map(([dnKey, namedAs]) => {
      const subject = subjects.get(dnKey);
      return { group: uuid, dnKey, namedAs, subject: subject?.uuid === uuid ? null : (subject ?? null) };
    }),
  );
}

describe('a plan', () => {
  it('creates everything on the first synchronization', () => {
    const { createdPeople, createdGroups, memberships, nestings } = plan(
      snapshot(
        [person('anna')],
        [
          group('club', [
            ['anna', 4],
            ['team', 1],
          ]),
          group('team'),
        ],
      ),
    );
    expect(createdPeople.map(({ value }) => value.uuid)).toEqual(['anna']);
    expect(createdGroups.map(({ value }) => value.uuid)).toEqual(['club', 'team']);
    expect(memberships).toEqual([{ group: 'club', subject: 'anna', before: null, after: 4 }]);
    expect(nestings).toEqual([{ group: 'club', subject: 'team', before: null, after: 1 }]);
  });

  it('contains exactly the new, changed and deleted entries', () => {
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
          ['anna', 4],
          ['cleo', 1],
          ['dan', 1],
        ]),
      ],
    );
    const changes = plan(after, before);
    expect(changes.createdPeople.map(({ value }) => value.uuid)).toEqual(['dan']);
    expect(changes.updatedPeople.map(({ value }) => value.uuid)).toEqual(['anna']);
    expect(changes.deletedPeople.map(({ uuid }) => uuid)).toEqual(['ben']);
    expect(changes.updatedGroups).toEqual([]);
    expect(changes.regrouped.map(({ value }) => value.uuid)).toEqual(['club']);
    expect(changes.deletedGroups.map(({ uuid }) => uuid)).toEqual(['team']);
    expect(changes.memberships).toEqual([
      { group: 'club', subject: 'anna', before: 1, after: 4 },
      { group: 'club', subject: 'dan', before: null, after: 1 },
      { group: 'club', subject: 'ben', before: 1, after: null },
      { group: 'team', subject: 'anna', before: 1, after: null },
    ]);
  });

  it('contains a changed value of every attribute', () => {
    const stored = snapshot([person('anna')]);
    const changes: Partial<MappedPerson>[] = [
      { dn: 'uid=x' },
      { id: 'x' },
      { name: 'x' },
      { givenName: 'x' },
      { familyName: 'x' },
      { email: 'x' },
      { schoolYear: 'x' },
      { photo: Buffer.from('x') },
      { picture: Buffer.from('x') },
      { sourceValues: { mail: ['x', 'y'] } },
      { createdAt: new Date(0) },
    ];
    for (const change of changes) {
      const { updatedPeople } = plan(snapshot([{ ...person('anna'), ...change }]), stored);
      expect({ change, updated: updatedPeople.length }).toEqual({ change, updated: 1 });
    }
  });

  it('distinguishes the same value in two attributes', () => {
    const stored = snapshot([{ ...person('anna'), givenName: 'x' }]);
    expect(plan(snapshot([{ ...person('anna'), familyName: 'x' }]), stored).updatedPeople).toHaveLength(1);
  });

  it('contains the dangling references of a group until their entries exist', () => {
    const before = snapshot([], [group('club', [['anna', 2]])]);
    expect(plan(before).unresolved).toEqual([{ group: 'club', dnKey: 'dn-anna', after: 2 }]);
    const after = plan(snapshot([person('anna')], [group('club', [['anna', 2]])]), before);
    expect(after.memberships).toEqual([{ group: 'club', subject: 'anna', before: null, after: 2 }]);
    expect(after.unresolved).toEqual([{ group: 'club', dnKey: 'dn-anna', after: null }]);
    expect(after.regrouped).toEqual([]);
  });

  it('removes a moved user from groups with the old DN', () => {
    const club = group('club', [['anna', 1]]);
    const before = snapshot([person('anna')], [club]);
    const moved = { ...person('anna'), dn: 'uid=anna,ou=alumni', dnKey: 'dn-elsewhere' };
    const { memberships, unresolved, deletedPeople } = plan(snapshot([moved], [club]), before);
    expect(deletedPeople).toEqual([]);
    expect(memberships).toEqual([{ group: 'club', subject: 'anna', before: 1, after: null }]);
    expect(unresolved).toEqual([{ group: 'club', dnKey: 'dn-anna', after: 1 }]);
  });

  it('keeps a moved user in groups with the new DN', () => {
    const before = snapshot([person('anna')], [group('club', [['anna', 1]])]);
    const moved = { ...person('anna'), dnKey: 'dn-elsewhere' };
    const { memberships, nestings } = plan(snapshot([moved], [group('club', [['elsewhere', 1]])]), before);
    expect([...memberships, ...nestings]).toEqual([]);
  });

  it('takes a group that contains itself only for empty', () => {
    const { memberships, nestings, unresolved } = plan(snapshot([], [group('club', [['club', 1]])]));
    expect([...memberships, ...nestings]).toEqual([]);
    expect(unresolved).toEqual([{ group: 'club', dnKey: 'dn-club', after: 1 }]);
  });

  const PEOPLE = ['anna', 'ben', 'cleo', 'dan'];
  const names = fc.uniqueArray(
    fc.tuple(fc.constantFrom(...PEOPLE, 'club', 'team'), fc.integer({ min: 1, max: 7 })),
    { selector: ([named]) => named },
  );
  const directories = fc
    .tuple(fc.subarray(PEOPLE), fc.dictionary(fc.constantFrom('club', 'team'), names))
    .map(([people, groups]) =>
      snapshot(
        people.map((uuid) => person(uuid)),
        Object.entries(groups).map(([uuid, named]) => group(uuid, named)),
      ),
    );

  it('is empty exactly if the directory equals the mirror', () => {
    fc.assert(
      fc.property(directories, directories, (before, after) => {
        expect(isEmpty(plan(before, before))).toBe(true);
        const visible = (taken: Snapshot) => ({
          people: [...taken.people.keys()].sort(),
          groups: [...taken.groups.keys()].sort(),
          roles: referencesOf(taken)
            .flatMap(({ group, subject, namedAs }) =>
              subject === null ? [] : [`${group} ${subject.uuid} ${namedAs}`],
            )
            .sort(),
        });
        const isSame = JSON.stringify(visible(before)) === JSON.stringify(visible(after));
        expect(isEmpty(plan(after, before))).toBe(isSame);
      }),
      { numRuns: 200 },
    );
  });

  it('converts the stored state to the wanted one, dangling references included', () => {
    fc.assert(
      fc.property(directories, directories, (before, after) => {
        const { memberships, nestings, unresolved } = plan(after, before);
        const stored = new Map(
          referencesOf(before).map(({ group, dnKey, namedAs, subject }) => [
            `${group} ${subject?.uuid ?? dnKey}`,
            namedAs,
          ]),
        );
        const change = (key: string, namedAs: NamedAs | null) =>
          namedAs === null ? stored.delete(key) : stored.set(key, namedAs);
        for (const each of [...memberships, ...nestings]) change(`${each.group} ${each.subject}`, each.after);
        for (const each of unresolved) change(`${each.group} ${each.dnKey}`, each.after);
        for (const key of stored.keys()) if (!after.groups.has(key.split(' ')[0] ?? '')) stored.delete(key);
        const wanted = referencesOf(after).map(({ group, dnKey, namedAs, subject }) => [
          `${group} ${subject?.uuid ?? dnKey}`,
          namedAs,
        ]);
        expect([...stored].sort()).toEqual(wanted.sort());
      }),
      { numRuns: 200 },
    );
  });

  it('has a hash that does not depend on the order of the directory', () => {
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
    expect(plan(snapshot([...people].reverse(), reversed)).hash).toBe(plan(snapshot(people, groups)).hash);
  });

  it('has another hash for other changes', () => {
    const stored = snapshot([person('anna'), person('ben')]);
    const hashes = [snapshot([]), snapshot([person('anna')]), snapshot([person('ben')])].map(
      (wanted) => plan(wanted, stored).hash,
    );
    expect(new Set(hashes).size).toBe(3);
  });
});
