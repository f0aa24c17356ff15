import { GroupRole } from '../groups/group.model.js';
import type { PlanReport } from './plan-report.js';
import { describePlan, describeQuarantined } from './plan-text.js';

const NOTHING = { created: [], updated: [], deleted: [] };
const EMPTY: PlanReport = { people: NOTHING, groups: NOTHING, memberships: [], nestings: [] };
const { MEMBER, ADMIN, OWNER } = GroupRole;

function named(...ids: string[]) {
  return ids.map((id) => ({ id, name: `Name of ${id}` }));
}

describe('a plan as text', () => {
  it('lists added, changed and deleted entries', () => {
    const report: PlanReport = {
      ...EMPTY,
      people: {
        created: named('anna'),
        updated: [
          { id: 'ben', name: 'Ben', formerId: 'benjamin', fields: ['id', 'photo'] },
          { id: 'cleo', name: 'Cleo', formerId: 'cleo', fields: [] },
        ],
        deleted: named('dan'),
      },
    };
    expect(describePlan(report, 20)).toEqual([
      'People',
      '  + anna  Name of anna',
      '  ~ ben  Ben (was benjamin): id, photo',
      '  ~ cleo  Cleo: no visible attribute',
      '  - dan  Name of dan',
    ]);
  });

  it('lists added, removed and changed members of each group, nested groups included', () => {
    const report: PlanReport = {
      ...EMPTY,
      memberships: [
        { group: 'club', user: 'anna', before: null, after: MEMBER },
        { group: 'club', user: 'ben', before: ADMIN, after: null },
        { group: 'club', user: 'cleo', before: MEMBER, after: OWNER },
        { group: 'club', user: 'dan', before: OWNER, after: OWNER },
        { group: 'band', user: 'anna', before: null, after: ADMIN },
      ],
      nestings: [{ group: 'club', subgroup: 'team', before: null, after: MEMBER }],
    };
    expect(describePlan(report, 20)).toEqual([
      'Members',
      '  band: + anna ADMIN',
      '  club: + anna MEMBER, + @team MEMBER, - ben (was ADMIN), cleo MEMBER → OWNER, dan OWNER (by other attributes)',
    ]);
  });

  it('truncates each kind of entry separately', () => {
    const ids = ['a', 'b', 'c', 'd'];
    const report: PlanReport = {
      people: { ...NOTHING, created: named(...ids), deleted: named('z') },
      groups: NOTHING,
      memberships: [
        ...ids.map((user) => ({ group: 'club', user, before: null, after: MEMBER })),
        { group: 'club', user: 'z', before: MEMBER, after: null },
        ...ids.map((group) => ({ group, user: 'z', before: null, after: MEMBER })),
      ],
      nestings: [],
    };
    expect(describePlan(report, 2)).toEqual([
      ...['People', '  + a  Name of a', '  + b  Name of b', '  + … and 2 more', '  - z  Name of z'],
      ...['Members', '  a: + z MEMBER', '  b: + z MEMBER', '  … and 3 more'],
    ]);
    expect(describePlan({ ...EMPTY, memberships: report.memberships.slice(0, 5) }, 2)).toEqual([
      'Members',
      '  club: + a MEMBER, + b MEMBER, … and 2 more, - z (was MEMBER)',
    ]);
  });

  it('only counts the members of a deleted group', () => {
    const report: PlanReport = {
      ...EMPTY,
      groups: { ...NOTHING, deleted: named('club', 'empty') },
      memberships: [{ group: 'club', user: 'anna', before: MEMBER, after: null }],
      nestings: [{ group: 'club', subgroup: 'team', before: ADMIN, after: null }],
    };
    expect(describePlan(report, 20)).toEqual([
      'Groups',
      '  - club  Name of club, and with it 2 members',
      '  - empty  Name of empty',
    ]);
  });

  it('escapes control characters of the directory', () => {
    const report = {
      ...EMPTY,
      people: { ...NOTHING, created: [{ id: 'a\u001b[2J', name: 'Ann\u202ea\nb' }] },
    };
    expect(describePlan(report, 20)).toEqual(['People', '  + a\\u001b[2J  Ann\\u202ea\\u000ab']);
    const left = { kind: 'person', uuid: null, id: null, attribute: 'mail', reason: 'is not UTF-8' } as const;
    expect(describeQuarantined([{ ...left, dn: 'uid=\u0007' }], 20)).toEqual([
      '  ! mail of uid=\\u0007 is not UTF-8',
    ]);
  });
});
