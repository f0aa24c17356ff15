import { type Counts, guardPlan } from './deletion-guard.js';
import type { AttributeLoss } from './attribute-losses.js';
import { type Plan, type RoleChange, summaryOf } from './plan.js';

const NOTHING: Counts = { people: 0, groups: 0, memberships: 0 };
const SCHOOL: Counts = { people: 100, groups: 100, memberships: 200 };

function entries(prefix: string, count: number) {
  return Array.from({ length: count }, (_, index) => ({
    uuid: `${prefix}-${index}`,
    id: `${index}`,
    dnKey: `${index}`,
    contentHash: Buffer.alloc(0),
  }));
}

function planWith({ people = 0, groups = 0, memberships = [] as RoleChange[] }): Plan {
  return {
    createdPeople: [],
    updatedPeople: [],
    deletedPeople: entries('person', people),
    createdGroups: [],
    updatedGroups: [],
    deletedGroups: entries('group', groups),
    memberships,
    nestings: [],
    regrouped: [],
    unresolved: [],
    hash: '',
  };
}

function removals(count: number, more: Partial<RoleChange> = {}): RoleChange[] {
  return Array.from({ length: count }, (_, index) => ({
    group: 'club',
    subject: `member-${index}`,
    before: 1,
    after: null,
    ...more,
  }));
}

function guard(
  plan: Plan,
  { stored = SCHOOL, recentlyDeleted = NOTHING, losses = [] as AttributeLoss[], isFirst = false } = {},
) {
  return guardPlan(summaryOf(plan), { stored, recentlyDeleted, losses, isFirst }, 5);
}

describe('the deletion guard', () => {
  it.each([
    ['people', planWith({ people: 5 }), planWith({ people: 6 })],
    ['groups', planWith({ groups: 5 }), planWith({ groups: 6 })],
    ['memberships', planWith({ memberships: removals(10) }), planWith({ memberships: removals(11) })],
  ])('allows 5 %% of the %s to be deleted, and holds one more', (kind, allowed, held) => {
    expect(guard(allowed)).toBeNull();
    expect(guard(held)).toMatch(new RegExp(`^It would delete (6|11) of (100|200) ${kind}: at most`));
  });

  it('always allows three deletions, with their memberships', () => {
    const stored = { people: 5, groups: 4, memberships: 8 };
    const memberships = removals(8, { subject: 'person-0' });
    expect(guard(planWith({ people: 3, groups: 3, memberships }), { stored })).toBeNull();
    expect(guard(planWith({ people: 4 }), { stored })).toMatch(/^It would delete 4 of 5 people/);
  });

  it('counts memberships whose user and group stay; others count with their user or group', () => {
    expect(guard(planWith({ groups: 1, memberships: removals(50, { group: 'group-0' }) }))).toBeNull();
    expect(guard(planWith({ groups: 1, memberships: removals(50) }))).toMatch(/50 of 200 memberships/);
  });

  it('does not count a changed or a new role as a lost one', () => {
    expect(guard(planWith({ memberships: removals(50, { after: 2 }) }))).toBeNull();
  });

  it('counts entries that are replaced by others of the same name as deleted', () => {
    const replaced = (count: number) => {
      const createdPeople = entries('new', count).map((value) => ({ value }));
      return { ...planWith({ people: count }), createdPeople } as unknown as Plan;
    };
    expect(guard(replaced(5))).toBeNull();
    expect(guard(replaced(100))).toMatch(/^It would delete 100 of 100 people/);
  });

  it('holds a mass deletion in many steps', () => {
    const stored = { ...SCHOOL, people: 95 };
    const recentlyDeleted = { ...NOTHING, people: 5 };
    expect(guard(planWith({ people: 1 }), { stored, recentlyDeleted })).toBe(
      'It would delete 1 of 95 people after 5 shortly before: at most 5 are let through',
    );
  });

  it('allows changes without deletions after any earlier deletions', () => {
    expect(guard(planWith({}), { recentlyDeleted: { people: 50, groups: 50, memberships: 50 } })).toBeNull();
  });

  it('holds a source without users, even if three deletions would be allowed', () => {
    expect(guard(planWith({ people: 2 }), { stored: { people: 2, groups: 0, memberships: 0 } })).toBe(
      'The directory no longer contains people',
    );
  });

  it('allows the first synchronization with users', () => {
    const [person] = entries('person', 1);
    const createdPeople = [
      { value: person, contentHash: Buffer.alloc(0) },
    ] as unknown as Plan['createdPeople'];
    expect(guard({ ...planWith({}), createdPeople }, { stored: NOTHING, isFirst: true })).toBeNull();
  });

  it.each([
    ['nothing at all', planWith({})],
    [
      'groups only',
      { ...planWith({}), createdGroups: entries('group', 2) as unknown as Plan['createdGroups'] },
    ],
  ])('holds a first synchronization with %s', (_, plan) => {
    expect(guard(plan, { stored: NOTHING, isFirst: true })).toBe(
      'The first run found no people in the directory',
    );
  });

  it('allows a later synchronization if the mirror was empty before', () => {
    expect(guard(planWith({}), { stored: NOTHING })).toBeNull();
  });

  it.each([
    ['5 % of those who have it lose an attribute', { lost: 5, held: 100 }, null],
    [
      '5 % and one more lose it',
      { lost: 6, held: 100 },
      'It would take the attribute mail from 6 of 100 people: at most 5 are let through',
    ],
    ['three of a few lose it', { lost: 3, held: 3 }, null],
    [
      'four of a few lose it',
      { lost: 4, held: 10 },
      'It would take the attribute mail from 4 of 10 people: at most 3 are let through',
    ],
    [
      'they lose it one by one',
      { lost: 1, held: 95, recentlyLost: 5 },
      'It would take the attribute mail from 1 of 95 people after 5 shortly before: at most 5 are let through',
    ],
  ])('decides by attribute: %s', (_, loss, reason) => {
    const losses = [{ what: 'the attribute mail', kind: 'people', recentlyLost: 0, ...loss } as const];
    expect(guard(planWith({}), { losses })).toBe(reason);
  });
});
