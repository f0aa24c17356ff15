import fc from 'fast-check';
import { keyOfDn } from '../../ldap/naming/dn-key.js';
import { countSkipped, gather, subjectsOf } from './relate.js';
import type { MappedGroup, NamedAs, MappedPerson } from './snapshot.js';

function person(id: string, more: Partial<MappedPerson> = {}): MappedPerson {
  const dn = more.dn ?? `uid=${id},ou=people,dc=example,dc=org`;
  return {
    uuid: `person-${id}`,
    dn,
    dnKey: keyOfDn(dn),
    id,
    name: id,
    givenName: null,
    familyName: null,
    email: null,
    schoolYear: null,
    photo: null,
    picture: null,
    sourceValues: null,
    createdAt: null,
    ...more,
  };
}

function group(id: string, references: [dn: string, namedAs: NamedAs][] = []): MappedGroup {
  const dn = `cn=${id},ou=groups,dc=example,dc=org`;
  return {
    uuid: `group-${id}`,
    dn,
    dnKey: keyOfDn(dn),
    id,
    name: id,
    description: null,
    website: null,
    email: null,
    sourceValues: null,
    createdAt: null,
    references: new Map(references.map(([named, namedAs]) => [keyOfDn(named), namedAs])),
  };
}

const groupDn = (id: string) => group(id).dn;

function skipped(people: MappedPerson[], groups: MappedGroup[]) {
  const snapshot = gather(people, groups, []);
  return countSkipped(snapshot, subjectsOf(snapshot));
}

describe('the entries of DNs', () => {
  it('are users and groups, and a user if an entry is both', () => {
    const anna = person('anna');
    const team = group('team');
    const both = { ...group('anna'), dnKey: anna.dnKey };
    expect(subjectsOf(gather([anna], [team, both], []))).toEqual(
      new Map([
        [anna.dnKey, { kind: 'person', uuid: 'person-anna' }],
        [team.dnKey, { kind: 'group', uuid: 'group-team' }],
      ]),
    );
  });
});

describe('two entries of a kind with one DN', () => {
  it('are not chosen between, in any order', () => {
    const anna = person('anna');
    const other = { ...person('ben'), dnKey: anna.dnKey };
    for (const people of [
      [anna, other],
      [other, anna],
    ])
      expect(subjectsOf(gather(people, [{ ...group('anna'), dnKey: anna.dnKey }], []))).toEqual(new Map());
  });
});

describe('collecting users and groups', () => {
  it('skips and counts dangling DNs, malformed ones, and groups that contain themselves', () => {
    const club = group('club', [
      ['uid=nobody,ou=people,dc=example,dc=org', 1],
      ['not a DN', 1],
      ['uid=an\0na,ou=people,dc=example,dc=org', 1],
      [groupDn('club'), 1],
    ]);
    expect(skipped([person('anna')], [club])).toEqual({ dangling: 3, placeholders: 1, cyclic: 0 });
  });

  it('skips all entries with the same id, ignoring case, and mirrors all others', () => {
    const { people, quarantined } = gather(
      [person('anna'), person('ANNA', { uuid: 'another', dn: 'uid=x' }), person('ben')],
      [],
      [],
    );
    expect([...people.keys()]).toEqual(['person-ben']);
    expect(quarantined.map(({ reason }) => reason)).toEqual([
      'has the same id as another entry',
      'has the same id as another entry',
    ]);
  });

  it('skips all entries with the same entryUUID', () => {
    const { people, quarantined } = gather(
      [person('anna', { uuid: 'same' }), person('ben', { uuid: 'same' }), person('cleo')],
      [],
      [],
    );
    expect([...people.keys()]).toEqual(['person-cleo']);
    expect(quarantined).toHaveLength(2);
  });

  it('counts the groups that contain themselves through others, and no other ones', () => {
    const names = (...ids: string[]): [string, NamedAs][] => ids.map((id) => [groupDn(id), 1]);
    const { cyclic } = skipped(
      [],
      [
        group('a', names('b')),
        group('b', names('c')),
        group('c', names('a', 'd')),
        group('d'),
        group('e', names('a')),
      ],
    );
    expect(cyclic).toBe(3);
  });

  it('follows a chain of ten thousand groups', () => {
    const chain = Array.from({ length: 10_000 }, (_, index) =>
      group(`${index}`, [[groupDn(`${index + 1}`), 1]]),
    );
    expect(skipped([], chain)).toEqual({ dangling: 1, placeholders: 0, cyclic: 0 });
  });

  it('counts as cyclic exactly the groups that can be reached from themselves', () => {
    const graphs = fc.array(fc.array(fc.nat(7), { maxLength: 3 }), { minLength: 8, maxLength: 8 });
    fc.assert(
      fc.property(graphs, (edges) => {
        const all = edges.map((inner, index) =>
          group(
            `${index}`,
            inner.map((to) => [groupDn(`${to}`), 1]),
          ),
        );
        const reaches = (from: number) => {
          const seen = new Set<number>();
          const open = (edges[from] ?? []).filter((to) => to !== from);
          for (let next = open.pop(); next !== undefined; next = open.pop()) {
            if (!seen.has(next)) open.push(...(edges[next] ?? []));
            seen.add(next);
          }
          return seen.has(from);
        };
        expect(skipped([], all).cyclic).toBe(edges.filter((_, index) => reaches(index)).length);
      }),
      { numRuns: 200 },
    );
  });
});
