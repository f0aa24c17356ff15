import type { ListedChanges, ListedEntry, ListedMembership } from '../mirror/revision/listed-changes.js';
import { describeChanges } from './changes-text.js';

const NONE: ListedChanges = { entries: [], memberships: [], quarantined: [], dangling: [] };

function linesOf(changes: ListedChanges, limit = 20): string[] {
  return describeChanges(changes, limit).flatMap(({ title, lines }) => [
    title,
    ...lines.map(([sign, text]) => `  ${sign} ${text}`),
  ]);
}

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
    expect(linesOf({ ...NONE, entries })).toEqual([
      'Users',
      '  + anna  The anna  uid=anna',
      '  ~ ben  The ben  uid=ben (was benjamin): id, photo',
      '  ~ cleo  The cleo  uid=cleo: no visible attribute',
      '  - dan  The dan  uid=dan',
    ]);
    expect(linesOf({ ...NONE, entries: listed('created', ['anna', 'ben', 'cleo']) }, 1)).toEqual([
      'Users',
      '  + anna  The anna  uid=anna',
      '  + … and 2 more',
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
    expect(linesOf({ ...NONE, memberships })).toEqual([
      'Members',
      '  + band: anna ADMIN',
      '  + club: anna MEMBER',
      '  + club: @team MEMBER',
      '  ~ club: cleo MEMBER → OWNER',
      '  - club: ben ADMIN',
    ]);
  });

  it('have escaped control characters of the directory', () => {
    const entries = listed('created', ['a\u001b[2J'], { dn: 'Ann\u202ea\nb' });
    expect(linesOf({ ...NONE, entries })).toEqual([
      'Users',
      '  + a\\u001b[2J  The a\\u001b[2J  Ann\\u202ea\\u000ab',
    ]);
    const left = { kind: 'person', attribute: 'mail', reason: 'is not UTF-8' } as const;
    const dangling = [
      { dn: 'cn=\u0007', names: 2 },
      { dn: 'cn=b', names: 1 },
    ];
    const quarantined = [{ ...left, dn: 'uid=\u0007' }];
    expect(linesOf({ ...NONE, quarantined, dangling })).toEqual([
      'Left out',
      '  ! mail of uid=\\u0007 is not UTF-8',
      '  ! 2 members of cn=\\u0007 without an entry',
      '  ! 1 member of cn=b without an entry',
    ]);
  });
});
