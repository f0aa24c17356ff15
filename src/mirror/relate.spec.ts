import fc from 'fast-check';
import { relate } from './relate.js';
import type { MappedGroup, Person, Rank } from './snapshot.js';

function person(id: string, more: Partial<Person> = {}): Person {
  return {
    uuid: `person-${id}`,
    dn: `uid=${id},ou=people,dc=example,dc=org`,
    id,
    name: id,
    givenName: null,
    familyName: null,
    email: null,
    schoolYear: null,
    photo: null,
    picture: null,
    createdAt: null,
    ...more,
  };
}

function group(id: string, references: [dn: string, rank: Rank][] = []): MappedGroup {
  return {
    uuid: `group-${id}`,
    dn: `cn=${id},ou=groups,dc=example,dc=org`,
    id,
    name: id,
    description: null,
    website: null,
    email: null,
    createdAt: null,
    references: references.map(([dn, rank]) => ({ dn, rank })),
  };
}

const groupDn = (id: string) => group(id).dn;
const membersOf = (snapshot: ReturnType<typeof relate>, id: string) =>
  Object.fromEntries(snapshot.groups.get(`group-${id}`)?.members ?? []);

describe('relating groups to people', () => {
  it('finds a person by a DN that is spelled differently', () => {
    const snapshot = relate(
      [person('anna')],
      [group('club', [['UID=Anna , OU=People, DC=example,DC=org', 1]])],
      [],
    );
    expect(membersOf(snapshot, 'club')).toEqual({ 'person-anna': 1 });
  });

  it('gives the highest role of somebody who is named more than once', () => {
    const { dn } = person('anna');
    const club = group('club', [
      [dn, 1],
      [dn, 3],
      [dn, 2],
    ]);
    expect(membersOf(relate([person('anna')], [club], []), 'club')).toEqual({ 'person-anna': 3 });
  });

  it('nests a group that is named as a member', () => {
    const { groups } = relate([], [group('outer', [[groupDn('inner'), 2]]), group('inner')], []);
    expect([...(groups.get('group-outer')?.nested ?? [])]).toEqual([['group-inner', 2]]);
  });

  it('skips and counts DNs that name nothing, malformed ones, and a group that names itself', () => {
    const club = group('club', [
      ['uid=nobody,ou=people,dc=example,dc=org', 1],
      ['no DN at all', 1],
      ['uid=an\0na,ou=people,dc=example,dc=org', 1],
      [groupDn('club'), 1],
    ]);
    const { skipped } = relate([person('anna')], [club], []);
    expect(skipped).toEqual({ dangling: 3, placeholders: 1, cyclic: 0 });
  });

  it('puts all entries with one id aside, without regard to case, and mirrors everybody else', () => {
    const { people, quarantined } = relate(
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

  it('puts all entries with one entryUUID aside', () => {
    const { people, quarantined } = relate(
      [person('anna', { uuid: 'same' }), person('ben', { uuid: 'same' }), person('cleo')],
      [],
      [],
    );
    expect([...people.keys()]).toEqual(['person-cleo']);
    expect(quarantined).toHaveLength(2);
  });

  it('counts the groups that contain themselves through others, and no other ones', () => {
    const names = (...ids: string[]): [string, Rank][] => ids.map((id) => [groupDn(id), 1]);
    const { skipped } = relate(
      [],
      [
        group('a', names('b')),
        group('b', names('c')),
        group('c', names('a', 'd')),
        group('d'),
        group('e', names('a')),
      ],
      [],
    );
    expect(skipped.cyclic).toBe(3);
  });

  it('follows a chain of ten thousand groups', () => {
    const chain = Array.from({ length: 10_000 }, (_, index) =>
      group(`${index}`, [[groupDn(`${index + 1}`), 1]]),
    );
    expect(relate([], chain, []).skipped).toEqual({ dangling: 1, placeholders: 0, cyclic: 0 });
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
        expect(relate([], all, []).skipped.cyclic).toBe(edges.filter((_, index) => reaches(index)).length);
      }),
      { numRuns: 200 },
    );
  });
});
