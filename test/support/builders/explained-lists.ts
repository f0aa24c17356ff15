import { nodeIdOf } from '../../../src/common/identity.js';
import type { INestApplicationContext } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { Database } from '../../../src/database/database.js';
import type { SentStatement } from '../../../src/database/statements/statement.js';
import { statementsOf } from './statements.js';

/** Tables that grow with the directory, and must never be scanned sequentially. */
const LARGE_TABLES = [
  'entries',
  'names',
  '"references"',
  'users',
  'groups',
  'nestings',
  'effective_memberships',
  'pictures',
  'changes',
];

const HIDE_ONE_PERCENT = [
  'update users set visible_to = 1 where key % 100 = 0',
  'update groups set visible_to = 1 where key % 100 = 50',
  'update groups set members_visible_to = 1 where key % 100 = 60',
  `update effective_memberships m set user_visible_to = u.visible_to from users u
   where u.key = m.user_key and u.visible_to > 0`,
  `update effective_memberships m set group_visible_to = g.visible_to, group_members_visible_to = g.members_visible_to
   from groups g where g.key = m.group_key and (g.visible_to > 0 or g.members_visible_to > 0)`,
  `update changes c set user_visible_to = u.visible_to from users u where u.key = c.user_key and u.visible_to > 0`,
  'vacuum analyze',
];

/** Hides one of a hundred users, groups and lists of members, as synchronization writes it for a model with rules. */
export async function hideOnePercent(app: INestApplicationContext): Promise<void> {
  // As if the model had rules, whatever the fingerprint of the mirror is.
  Object.defineProperty(app.get(Database), 'hides', { get: () => true });
  const runner = app.get(DataSource).createQueryRunner();
  await runner.query('set statement_timeout = 0');
  for (const statement of HIDE_ONE_PERCENT) await runner.query(statement);
  await runner.release();
}

const PAGE_INFO = 'pageInfo { hasNextPage hasPreviousPage startCursor endCursor }';
const USERS = `nodes { id name photo } totalCount ${PAGE_INFO}`;
const GROUPS = `nodes { id name } totalCount ${PAGE_INFO}`;
const MEMBERSHIPS = `nodes { user { id } group { id } role { value inheritedFrom { id } } } totalCount ${PAGE_INFO}`;

/** Each list with its filters and orders, for both ends and the middle. */
export const LISTS: [root: string, list: string, args: string, selection: string][] = [
  ...[
    '',
    'search: "qx"',
    'search: "qxander"',
    'search: "qxander be"',
    'schoolYear: "3D"',
    'schoolYears: ["3D", "4A"]',
    'updatedSince: "2026-01-02T03:00:00Z"',
    'active: true',
    'active: false',
    'ids: ["person.7", "PERSON.8", "unknown"]',
    'emails: ["person.7@example.org", "unknown"]',
    'ids: ["person.7"], emails: ["person.8@example.org"], active: true',
  ].flatMap((filter): [string, string, string, string][] =>
    ['NAME', 'SCHOOL_YEAR', 'FAMILY_NAME', 'CREATED_AT', 'UPDATED_AT'].map((field) => [
      '%',
      'users',
      `filter: {${filter}}, orderBy: {field: ${field}}`,
      USERS,
    ]),
  ),
  // Their totals are counted over all groups.
  ...['true', 'false'].map((isRoot): [string, string, string, string] => [
    '%',
    'groups',
    `filter: {isRoot: ${isRoot}}`,
    `nodes { id name } ${PAGE_INFO}`,
  ]),
  ['%', 'users', 'filter: {memberOf: {id: "group-7"}}', USERS],
  ['%', 'users', 'filter: {memberOf: {id: "group-7"}, role: {is: OWNER, strict: true}}', USERS],
  ['%', 'users', 'filter: {inGroup: {group: {id: "group-7"}, role: {is: ADMIN}}}', USERS],
  ['%', 'users', 'filter: {memberOf: {id: "group-7"}, search: "qxander", schoolYear: "3D"}', USERS],
  [
    '%',
    'users',
    'filter: {memberOf: {id: "group-7"}}, orderBy: {field: SCHOOL_YEAR, direction: DESC}',
    USERS,
  ],
  ...[
    '',
    'search: "qx"',
    'search: "qxander"',
    'search: "qxander be"',
    'parent: {id: "group-1"}',
    'ids: ["group-7", "GROUP-8"]',
    'emails: ["group-7@example.org", "unknown"]',
    'updatedSince: "2026-01-02T03:00:00Z"',
    'hasMember: {id: "person.7"}',
    'withMember: {user: {id: "person.7"}, role: {is: ADMIN}}',
  ].flatMap((filter): [string, string, string, string][] =>
    ['NAME', 'MEMBER_COUNT', 'UPDATED_AT'].flatMap((field) =>
      ['ASC', 'DESC'].map((direction): [string, string, string, string] => [
        '%',
        'groups',
        `filter: {${filter}}, orderBy: {field: ${field}, direction: ${direction}}`,
        GROUPS,
      ]),
    ),
  ),
  [
    '%',
    'groups',
    'filter: {hasMember: {id: "person.7"}, role: {is: ADMIN}, parent: {id: "group-1"}}',
    GROUPS,
  ],
  ...[
    '',
    'role: {is: OWNER}',
    'origin: DIRECT',
    'origin: NESTED',
    'search: "qx"',
    'search: "qxander"',
    'search: "qxander be"',
    'schoolYear: "3D"',
    'schoolYears: ["3D", "4A"]',
  ].flatMap((filter): [string, string, string, string][] =>
    ['NAME', 'FAMILY_NAME', 'CREATED_AT', 'ROLE'].flatMap((field) =>
      ['ASC', 'DESC'].flatMap((direction): [string, string, string, string][] => {
        const args = `filter: {${filter}}, orderBy: {field: ${field}, direction: ${direction}}`;
        const ofGroup: [string, string] = ['group(group: {id: "group-7"}) { % }', 'members'];
        const ofUser: [string, string] = ['user(user: {id: "person.7"}) { % }', 'groups'];
        // The groups of a user cannot be filtered by school year.
        return (filter.startsWith('schoolYear') ? [ofGroup] : [ofGroup, ofUser]).map(([root, list]) => [
          root,
          list,
          args,
          MEMBERSHIPS,
        ]);
      }),
    ),
  ),
  ['group(group: {id: "group-2"}) { % }', 'parents', '', GROUPS],
  ['group(group: {id: "group-1"}) { % }', 'subgroups', '', GROUPS],
  ...['qx', 'qxander', 'qxander be'].flatMap((query): [string, string, string, string][] => [
    [
      '%',
      'search',
      `query: "${query}"`,
      `nodes { ... on User { id } ... on Group { id } } totalCount ${PAGE_INFO}`,
    ],
    [
      '%',
      'search',
      `query: "${query}", kinds: [GROUP]`,
      `nodes { ... on Group { id } } totalCount ${PAGE_INFO}`,
    ],
  ]),
  ...[
    '',
    'kinds: [USER_DELETED]',
    'kinds: [USER_DELETED, ROLE_CHANGED, GROUP_CREATED]',
    'user: {id: "person.40"}',
    'user: {id: "former.7"}',
    'group: {id: "group-1"}',
    'group: {id: "group-1"}, kinds: [GROUP_CREATED, ROLE_CHANGED]',
    'user: {id: "person.40"}, group: {id: "group-1"}',
    `since: "${new Date(Date.now() - 7 * 86_400_000).toISOString()}"`,
    `since: "${new Date(Date.now() - 7 * 86_400_000).toISOString()}", kinds: [GROUP_CREATED, ROLE_CHANGED]`,
  ].map((filter): [string, string, string, string] => [
    '%',
    'changes',
    `filter: {${filter}}`,
    `nodes { id kind user { id } group { id } } totalCount ${PAGE_INFO}`,
  ]),
];

/** Columns that memberships carry: such a page needs no other table. */
export const CARRIED: [root: string, list: string, args: string, selection: string][] = [
  ...['NAME', 'ROLE'].map((field): [string, string, string, string] => [
    'group(group: {id: "group-7"}) { % }',
    'members',
    `filter: {schoolYear: "3D"}, orderBy: {field: ${field}}`,
    `nodes { role { value direct } user { id name schoolYear photo picture groups(first: 2) { totalCount } } } ${PAGE_INFO}`,
  ]),
  [
    'user(user: {id: "person.7"}) { % }',
    'groups',
    '',
    `nodes { role { value } group { id name } } ${PAGE_INFO}`,
  ],
];

export const SINGLE = [
  '{ user(user: {id: "person.1"}) { id name photo picture groups(first: 10) { totalCount } } }',
  '{ group(group: {id: "group-1"}) { id members(first: 10) { nodes { user { groups(first: 10) { nodes { group { subgroups(first: 5) { nodes { id } } } } } } } } } }',
  '{ isMember(user: {id: "person.1"}, group: {id: "group-1"}) }',
  '{ user(user: {email: "person.1@example.org"}) { id active groups(first: 10) { totalCount } } }',
  '{ user(user: {email: "person.1@example.org"}) { id } }',
  '{ changes(first: 1, filter: {user: {email: "person.1@example.org"}}) { totalCount } }',
  '{ directoryStatus { state asOf blockedReason } }',
  '{ currentToken { userId } currentServiceAccount { id } }',
];

/** No object has them. Statements do not depend on that. */
const [USER = '', GROUP = ''] = (['User', 'Group'] as const).map((type) =>
  nodeIdOf(type, '00000000-0000-4000-8000-000000000000'),
);

/** Lookups by node id, whose result is NOT_FOUND or null. */
export const BY_NODE_ID = [
  `{ user(user: {nodeId: "${USER}"}) { id groups(first: 10) { totalCount } } }`,
  `{ group(group: {nodeId: "${GROUP}"}) { id } }`,
  `{ isMember(user: {email: "person.1@example.org"}, group: {nodeId: "${GROUP}"}) }`,
  `{ nodes(nodeIds: ["${USER}", "${GROUP}"]) { nodeId } }`,
  `{ changes(first: 1, filter: {user: {nodeId: "${USER}"}, group: {nodeId: "${GROUP}"}}) { totalCount } }`,
];

/** The statements of every list at its beginning, at its end, and in the middle, by name. */
export async function collectStatements(
  ask: (query: string) => Promise<string>,
): Promise<Map<string, SentStatement>> {
  const statements = await statementsOf(async () => {
    for (const query of SINGLE) await ask(query);
    for (const [root, list, args, selection] of [...LISTS, ...CARRIED]) {
      const page = (range: string) =>
        ask(`{ ${root.replace('%', `page: ${list}(${range} ${args}) { ${selection} }`)} }`);
      const cursors = [...(await page('first: 3')).matchAll(/"(?:start|end)Cursor":"([^"]+)"/g)];
      await page('last: 3');
      const [start, end] = cursors.map(([, cursor]) => cursor);
      if (start === undefined || end === undefined) continue;
      await page(`first: 3, after: "${start}"`);
      await page(`last: 3, before: "${end}"`);
      await page(`last: 3, after: "${start}", before: "${end}"`);
    }
  });
  return new Map(statements.map((statement) => [statement.name, statement]));
}

/** The generic plan, which the connections of the service always use. */
export async function explain(dataSource: DataSource, { text, values }: SentStatement): Promise<string> {
  const runner = dataSource.createQueryRunner();
  try {
    await runner.query(`prepare explained as ${text}`);
    const nulls = values.length === 0 ? '' : `(${values.map(() => 'null').join(', ')})`;
    const lines = (await runner.query(`explain execute explained${nulls}`)) as Record<string, string>[];
    await runner.query('deallocate explained');
    return lines.map((line) => Object.values(line).join()).join('\n');
  } finally {
    await runner.release();
  }
}

/** The numbers of rows that each scan of users and groups in the executed statement returns. */
export async function rowsRead(
  dataSource: DataSource,
  statement: SentStatement | undefined,
): Promise<number[]> {
  const { text = '', values = [] } = statement ?? {};
  const lines: Record<string, string>[] = await dataSource.query(
    `explain (analyze, costs off, timing off) ${text}`,
    [...values],
  );
  const plan = lines.map((line) => Object.values(line).join()).join('\n');
  const scans = plan.matchAll(/Scan[^\n]* on (?:users|groups)\b[^\n]*\(actual rows=([\d.]+) loops=(\d+)\)/g);
  return [...scans].map(([, rows, loops]) => Number(rows) * Number(loops));
}

/** The statements that scan a large table sequentially, with their plans. */
export async function findScans(
  dataSource: DataSource,
  statements: Iterable<SentStatement>,
): Promise<string[]> {
  const found: string[] = [];
  for (const statement of statements) {
    const plan = await explain(dataSource, statement);
    const scanned = LARGE_TABLES.filter((table) => new RegExp(`Seq Scan on ${table}(?!\\w)`).test(plan));
    if (scanned.length > 0) found.push(`${scanned.join(', ')} in:\n${statement.text}\n${plan}`);
  }
  return found;
}
