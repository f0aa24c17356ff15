import type { ListedChanges, ListedEntry, ListedMembership } from '../mirror/revision/listed-changes.js';
import { describeChanges } from './changes-text.js';

const NONE: ListedChanges = { entries: [], memberships: [], quarantined: [], dangling: [] };
/** The last line, if nothing is left out. */
const NOTHING_LEFT = 'Left out: 0 quarantined, 0 dangling';
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
      NOTHING_LEFT,
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
      '  club: - ben (was ADMIN), + anna MEMBER, cleo MEMBER → OWNER, + @team MEMBER',
      NOTHING_LEFT,
    ]);
  });

  it('have escaped control characters of the directory', () => {
    const entries = listed('created', ['a\u001b[2J'], { dn: 'Ann\u202ea\nb' });
    expect(describeChanges({ ...NONE, entries }, 20)).toEqual([
      'Users',
      '  + a\\u001b[2J  The a\\u001b[2J  Ann\\u202ea\\u000ab',
      NOTHING_LEFT,
    ]);
    const left = { kind: 'person', attribute: 'mail', reason: 'is not UTF-8' } as const;
    const dangling = [
      { dn: 'cn=\u0007', names: 2 },
      { dn: 'cn=b', names: 1 },
    ];
    const quarantined = [{ ...left, dn: 'uid=\u0007' }];
    expect(describeChanges({ ...NONE, quarantined, dangling }, 20)).toEqual([
      'Left out: 1 quarantined, 3 dangling',
      '  ! mail of uid=\\u0007 is not UTF-8',
      '  ! 2 members of cn=\\u0007 without an entry',
      '  ! 1 member of cn=b without an entry',
    ]);
  });
});
