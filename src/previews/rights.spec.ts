import { readFileSync } from 'node:fs';
import { type Principal, type PrincipalKind, SCOPES, type Scope } from '../auth/principal.js';
import { hasScopes } from '../auth/access.js';
import { GroupRole } from '../groups/group.model.js';
import { ADMINISTRATOR_SCOPES, type CallerRole, mayChange, ROLE_FOR, roleToManage } from './rights.js';

type Rule = (principal: Principal, callerRole: CallerRole) => boolean;

const { MEMBER, ADMIN, OWNER } = GroupRole;

const needs =
  (role: GroupRole): Rule =>
  (principal, callerRole) =>
    mayChange(principal, callerRole, role);

/** The beginning of each row of the table on the page, and the rule that the row describes. */
const ROWS: [row: string, rule: Rule][] = [
  ['`updateProfile`', (_principal, callerRole) => actorOf(callerRole) !== null],
  ['`updateUser`', (principal) => hasScopes(principal, ADMINISTRATOR_SCOPES)],
  [
    '`createGroup`, and',
    (principal, callerRole) => actorOf(callerRole) !== null || hasScopes(principal, ADMINISTRATOR_SCOPES),
  ],
  ['`createGroup` with a `parent`', needs(ROLE_FOR.createGroupInside)],
  ['`updateGroup`', needs(ROLE_FOR.updateGroup)],
  ['`deleteGroup`', needs(ROLE_FOR.deleteGroup)],
  ['`addGroupMember` as MEMBER', needs(roleToManage(MEMBER))],
  ['`addGroupMember` as ADMIN', needs(roleToManage(ADMIN))],
  ['`addGroupMember` as OWNER', needs(roleToManage(OWNER))],
  ['`updateGroupMember`', needs(ROLE_FOR.updateGroupMember)],
  ['`removeGroupMember` of a MEMBER', needs(roleToManage(MEMBER))],
  ['`removeGroupMember` of an ADMIN', needs(roleToManage(ADMIN))],
  ['`removeGroupMember` of an OWNER', needs(roleToManage(OWNER))],
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
