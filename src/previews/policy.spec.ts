import { readFileSync } from 'node:fs';
import { type Principal, type PrincipalKind, SCOPES, type Scope } from '../auth/principal.js';
import { GroupRole } from '../groups/group.model.js';
import {
  canAddMember,
  canChangeRoles,
  canCreateGroup,
  canCreateGroupIn,
  canDeleteGroup,
  canRemoveMember,
  canUpdateGroup,
  canUpdateProfile,
  isAdministrator,
  type CallerRole,
} from './policy.js';

type Rule = (principal: Principal, callerRole: CallerRole) => boolean;

const { MEMBER, ADMIN, OWNER } = GroupRole;

/** The beginning of each row of the table on the page, and the rule that the row describes. */
const ROWS: [row: string, rule: Rule][] = [
  ['`updateProfile`', (_principal, callerRole) => canUpdateProfile(actorOf(callerRole))],
  ['`updateUser`', (principal) => isAdministrator(principal)],
  ['`createGroup`, and', (principal, callerRole) => canCreateGroup(principal, actorOf(callerRole))],
  ['`createGroup` with a `parent`', canCreateGroupIn],
  ['`updateGroup`', canUpdateGroup],
  ['`deleteGroup`', canDeleteGroup],
  ['`addGroupMember` as MEMBER', (principal, callerRole) => canAddMember(principal, callerRole, MEMBER)],
  ['`addGroupMember` as ADMIN', (principal, callerRole) => canAddMember(principal, callerRole, ADMIN)],
  ['`addGroupMember` as OWNER', (principal, callerRole) => canAddMember(principal, callerRole, OWNER)],
  ['`updateGroupMember`', canChangeRoles],
  [
    '`removeGroupMember` of a MEMBER',
    (principal, callerRole) => canRemoveMember(principal, callerRole, MEMBER),
  ],
  [
    '`removeGroupMember` of an ADMIN',
    (principal, callerRole) => canRemoveMember(principal, callerRole, ADMIN),
  ],
  [
    '`removeGroupMember` of an OWNER',
    (principal, callerRole) => canRemoveMember(principal, callerRole, OWNER),
  ],
];

/** The columns of the table after those for `directory`. */
const CALLER_ROLES: CallerRole[] = [OWNER, ADMIN, MEMBER, 'STRANGER', 'NO_USER'];

/** Every kind of token with every set of scopes. */
const PRINCIPALS = (['ACCESS_TOKEN', 'PERSONAL_ACCESS_TOKEN', 'SERVICE_ACCOUNT_TOKEN'] as const).flatMap(
  (kind) => subsetsOf(SCOPES).map((scopes) => principalOf(kind, scopes)),
);

describe('the rights to preview a change', () => {
  const table = rowsOf(readFileSync('docs/clients.md', 'utf8'));

  it('are exactly those of the table', () => {
    expect(table.map(([cell = '']) => ROWS.find(([row]) => cell.startsWith(row))?.[0])).toEqual(
      ROWS.map(([row]) => row),
    );
  });

  it.each(ROWS)('match the table for %s, for any token', (row, rule) => {
    const [, administrator = '', ...others] = table.find(([cell = '']) => cell.startsWith(row)) ?? [];
    for (const principal of PRINCIPALS) {
      const isPowerful = principal.scopes.has('directory') && principal.scopes.has('write');
      const expected = others.map((cell) => (isPowerful && administrator !== '¹' ? administrator : cell));
      const found = CALLER_ROLES.map((callerRole) => (rule(principal, callerRole) ? 'yes' : 'no'));
      expect(found).toEqual(expected);
    }
  });
});

/** Returns the token's user, if there is one. */
function actorOf(callerRole: CallerRole): object | null {
  return callerRole === 'NO_USER' ? null : { callerRole };
}

function principalOf(kind: PrincipalKind, scopes: readonly Scope[]): Principal {
  return {
    kind,
    countedAs: 'somebody',
    scopes: new Set(scopes),
    clientId: null,
    subject: null,
    serviceAccountId: null,
    expiresAt: null,
  };
}

function subsetsOf<Each>(list: readonly Each[]): Each[][] {
  return list.reduce<Each[][]>(
    (subsets, each) => subsets.flatMap((subset) => [subset, [...subset, each]]),
    [[]],
  );
}

/** Returns the cells of the rows that begin with the name of a mutation. */
function rowsOf(page: string): string[][] {
  const [, section = ''] = page.split('\n### Who can preview what\n');
  const [table = ''] = section.split('\n### ');
  return table
    .split('\n')
    .filter((line) => line.startsWith('| `'))
    .map((line) =>
      line
        .split('|')
        .slice(1, -1)
        .map((cell) => cell.trim()),
    );
}
