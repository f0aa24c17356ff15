import fc from 'fast-check';
import { AUDIENCE_LEVELS } from '../../../src/config/model/mapping.js';
import type { TestGroup, TestPerson } from './directory.js';

type UserAudience = 'groupAdmins' | 'self';
type GroupAudience = 'members' | 'admins';
type Audience = UserAudience | GroupAudience;

/** A rule, with what its filter matches as code of the test. */
interface TestRule<Entry, To extends Audience> {
  readonly where: string;
  readonly to: To;
  readonly matches: (entry: Entry) => boolean;
}

export interface TestRules {
  readonly bypass: string;
  readonly users: TestRule<TestPerson, UserAudience>[];
  readonly groups: TestRule<TestGroup, GroupAudience>[];
  readonly members: TestRule<TestGroup, GroupAudience>[];
}

type Condition<Entry> = readonly [where: string, matches: (entry: Entry) => boolean];

const isNamed = (start: string) => (person: TestPerson) => person.familyName?.startsWith(start) === true;
const isDescribed = (part: string) => (group: TestGroup) => group.description?.includes(part) === true;

const OF_USERS = {
  hiddenFromAll: ['(sn=hidden from all)', isNamed('hidden from all')],
  hidden: ['(sn=hidden*)', isNamed('hidden')],
  withPhone: ['(telephoneNumber=*)', ({ phone }) => phone !== undefined],
  ofYearWithoutManager: [
    '(&(schoolYear=2B)(!(manager=*)))',
    ({ schoolYear, manager }) => schoolYear === '2B' && manager === undefined,
  ],
  some: [
    '(|(uid=p1)(uid=p4)(telephoneNumber=+41 1))',
    ({ id, phone }) => ['p1', 'p4'].includes(id) || phone === '+41 1',
  ],
} as const satisfies Record<string, Condition<TestPerson>>;

const OF_GROUPS = {
  secretOfAdmins: ['(description=*secret of admins*)', isDescribed('secret of admins')],
  secret: ['(description=*secret*)', isDescribed('secret')],
  privateToAdmins: ['(description=*private to admins*)', isDescribed('private to admins')],
  private: ['(description=*private*)', isDescribed('private')],
  some: ['(|(cn=g1)(cn=g5))', ({ id }) => ['g1', 'g5'].includes(id)],
  owned: ['(owner=*)', ({ owners = [] }) => owners.length > 0],
  notDescribed: [
    '(&(!(description=*))(groupAdmin=*))',
    ({ description, admins = [] }) => description === undefined && admins.length > 0,
  ],
} as const satisfies Record<string, Condition<TestGroup>>;

function rule<Entry, To extends Audience>([where, matches]: Condition<Entry>, to: To): TestRule<Entry, To> {
  return { where, matches, to };
}

/** Rules about attributes that tests give to entries for this purpose. */
export const TEST_RULES: TestRules = {
  bypass: 'confidential',
  users: [rule(OF_USERS.hiddenFromAll, 'self'), rule(OF_USERS.hidden, 'groupAdmins')],
  groups: [rule(OF_GROUPS.secretOfAdmins, 'admins'), rule(OF_GROUPS.secret, 'members')],
  members: [rule(OF_GROUPS.privateToAdmins, 'admins'), rule(OF_GROUPS.private, 'members')],
};

/** Lists of rules, of which at least one has a rule. */
export function visibilityRules(): fc.Arbitrary<TestRules> {
  const listOf = <Entry, To extends Audience>(
    conditions: Readonly<Record<string, Condition<Entry>>>,
    to: To[],
  ) =>
    fc.array(
      fc
        .tuple(fc.constantFrom(...Object.values(conditions)), fc.constantFrom(...to))
        .map(([condition, audience]) => rule(condition, audience)),
      { maxLength: 3 },
    );
  const ofGroups = listOf(OF_GROUPS, ['members', 'admins']);
  return fc
    .record({ users: listOf(OF_USERS, ['groupAdmins', 'self']), groups: ofGroups, members: ofGroups })
    .filter(({ users, groups, members }) => users.length + groups.length + members.length > 0)
    .map((lists) => ({ bypass: 'confidential', ...lists }));
}

/** The level of the first rule that matches; 0 if none does. */
export function levelBy<Entry>(rules: readonly TestRule<Entry, Audience>[], entry: Entry): number {
  const found = rules.find(({ matches }) => matches(entry));
  return found === undefined ? 0 : AUDIENCE_LEVELS[found.to];
}
