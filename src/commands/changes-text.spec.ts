import type { ListedChanges, ListedEntry, ListedMembership } from '../mirror/revision/listed-changes.js';
import { describeChanges, describeLeftOut, groupedChanges } from './changes-text.js';

const NONE: ListedChanges = { entries: [], memberships: [], quarantined: [], dangling: [] };
const [MEMBER, ADMIN, OWNER] = [1, 2, 3] as const;

function listed(
  change: ListedEntry['change'],
  ids: string[],
  more: Partial<ListedEntry> = {},
): ListedEntry[] {
  return ids.map((id) => ({
    kind: 'person',
    change,
    id,
    name: `The ${id}`,
    formerId: null,
    dn: `uid=${id}`,
    fields: [],
    ...more,
  }));
}

function membership(
  group: string,
  member: string,
  before: number | null,
  after: number | null,
  isGroup = false,
): ListedMembership {
  return { group, member, isGroup, before, after };
}

describe('the changes of a dry run as text', () => {
  it('list added, changed and deleted entries', () => {
    const entries = [
      ...listed('created', ['anna']),
      ...listed('updated', ['ben'], { formerId: 'benjamin', fields: ['id', 'photo'] }),
      ...listed('updated', ['cleo']),
      ...listed('deleted', ['dan']),
    ];
    expect(describeChanges({ ...NONE, entries }, 20)).toEqual([
      'Users',
      '  + anna  The anna  uid=anna',
      '  ~ ben  The ben  uid=ben (was benjamin): id, photo',
      '  ~ cleo  The cleo  uid=cleo: no visible attribute',
      '  - dan  The dan  uid=dan',
    ]);
  });

  it('list added, removed and changed members of each group, nested groups included', () => {
    const memberships = [
      membership('band', 'anna', null, ADMIN),
      membership('club', 'anna', null, MEMBER),
      membership('club', 'ben', ADMIN, null),
      membership('club', 'cleo', MEMBER, OWNER),
      membership('club', 'team', null, MEMBER, true),
    ];
    expect(describeChanges({ ...NONE, memberships }, 20)).toEqual([
      'Members',
      '  band: + anna ADMIN',
      '  club: + anna MEMBER, + @team MEMBER, - ben (was ADMIN), cleo MEMBER → OWNER',
    ]);
  });

  it('are truncated for each kind separately', () => {
    const ids = ['a', 'b', 'c', 'd'];
    const ofClub = [...ids.map((id) => membership('club', id, null, 1)), membership('club', 'z', 1, null)];
    const changes = {
      ...NONE,
      entries: [...listed('created', ids), ...listed('deleted', ['z'])],
      memberships: [...ids.map((group) => membership(group, 'z', null, 1)), ...ofClub],
    };
    expect(describeChanges(changes, 2)).toEqual([
      ...['Users', '  + a  The a  uid=a', '  + b  The b  uid=b', '  + … and 2 more', '  - z  The z  uid=z'],
      ...['Members', '  a: + z MEMBER', '  b: + z MEMBER', '  … and 3 more'],
    ]);
    expect(describeChanges({ ...NONE, memberships: ofClub }, 2)).toEqual([
      'Members',
      '  club: + a MEMBER, + b MEMBER, … and 2 more, - z (was MEMBER)',
    ]);
  });

  it('only count the members of a deleted group', () => {
    const entries = listed('deleted', ['club', 'empty'], { kind: 'group' });
    const memberships = [membership('club', 'anna', 1, null), membership('club', 'team', 2, null, true)];
    expect(describeChanges({ ...NONE, entries, memberships }, 20)).toEqual([
      'Groups',
      '  - club  The club  uid=club, and with it 2 members',
      '  - empty  The empty  uid=empty',
    ]);
  });

  it('have escaped control characters of the directory', () => {
    const entries = listed('created', ['a\u001b[2J'], { dn: 'Ann\u202ea\nb' });
    expect(describeChanges({ ...NONE, entries }, 20)).toEqual([
      'Users',
      '  + a\\u001b[2J  The a\\u001b[2J  Ann\\u202ea\\u000ab',
    ]);
    const left = { kind: 'person', attribute: 'mail', reason: 'is not UTF-8' } as const;
    const dangling = [
      { dn: 'cn=\u0007', names: 2 },
      { dn: 'cn=b', names: 1 },
    ];
    expect(describeLeftOut({ quarantined: [{ ...left, dn: 'uid=\u0007' }], dangling }, 20)).toEqual([
      'Left out: 1 quarantined, 3 dangling',
      '  ! mail of uid=\\u0007 is not UTF-8',
      '  ! 2 members of cn=\\u0007 without an entry',
      '  ! 1 member of cn=b without an entry',
    ]);
  });
});

describe('the changes of a dry run for programs', () => {
  it('are grouped by kind', () => {
    const entries = [
      ...listed('created', ['anna']),
      ...listed('updated', ['ben'], { formerId: 'benjamin', fields: ['id'] }),
      ...listed('updated', ['cleo'], { fields: ['name'] }),
      ...listed('deleted', ['club'], { kind: 'group' }),
    ];
    const memberships = [membership('club', 'anna', 1, null), membership('team', 'band', 2, 3, true)];
    expect(groupedChanges({ ...NONE, entries, memberships })).toEqual({
      users: {
        created: [{ id: 'anna', name: 'The anna', dn: 'uid=anna' }],
        updated: [
          { id: 'ben', name: 'The ben', formerId: 'benjamin', dn: 'uid=ben', fields: ['id'] },
          { id: 'cleo', name: 'The cleo', formerId: 'cleo', dn: 'uid=cleo', fields: ['name'] },
        ],
        deleted: [],
      },
      groups: { created: [], updated: [], deleted: [{ id: 'club', name: 'The club', dn: 'uid=club' }] },
      memberships: [{ group: 'club', user: 'anna', before: 'MEMBER', after: null }],
      nestings: [{ group: 'team', subgroup: 'band', before: 'ADMIN', after: 'OWNER' }],
    });
  });
});
