import { type Field, isMapped, storedName } from '../../common/field.js';
import {
  AUDIENCE_LEVELS,
  type DirectoryMapping,
  type EntryMapping,
  type MemberForm,
  mappingOf,
} from '../../config/model/mapping.js';
import { FIELD_VALUES } from '../../database/fields/filters.js';
import type { Writer } from '../../database/statements/statement.js';
import { attributeKey } from '../../ldap/entry.js';
import { attributesOfFilter, parseFilter } from '../../ldap/filter/filter.js';
import type { EntryKind } from '../../sources/directory.js';
import {
  NAMED_AS_ADMIN,
  NAMED_AS_MEMBER,
  NAMED_AS_OWNER,
  namedBy,
  type RoleSum,
} from '../../sources/references.js';
import { MEMBERS } from './staged-entry.js';

/** The time within which deletions count together, for SQL and for messages. */
const WINDOW = '10 minutes';
/** Number of deletions that are always allowed: for instance one user who leaves, and their group. */
const ALWAYS_ALLOWED = 3;
/** Users who have all attributes that `disabled` reads become active on purpose, but not most of them at once. */
const PERCENT_ON_PURPOSE = 50;

/** What the deletion guard does not let many entries lose at once: an attribute, or the effect of a rule. */
interface Watched {
  /** Identifies it in `revisions.attributes_lost`. */
  readonly key: string;
  /** The object of a sentence. */
  readonly what: string;
  /** SQL condition: the row `e` of the mirror has it. */
  readonly isHeld: string;
  /** SQL condition: the staged entry `s` lacks it. */
  readonly isLacking: string;
  /** The share that may always lose it. Undefined: that of the settings. */
  readonly leastPercent?: number;
  /** Whether a change of the model explains the loss. */
  readonly isOfModel?: boolean;
}

/** The numbers of entries that lose what is watched, by key. */
export type Losses = Readonly<Record<string, number>>;

/** Numbers of what a revision changes. */
export interface RevisionCounts {
  readonly users: { created: number; updated: number; deleted: number };
  readonly groups: { created: number; updated: number; deleted: number };
  /** Direct memberships. `removed`: of users who remain, in groups that remain. `inherited`: all effective ones that change. */
  readonly memberships: {
    created: number;
    updated: number;
    deleted: number;
    removed: number;
    inherited: number;
  };
  readonly nestings: { created: number; updated: number; deleted: number };
}

const NOUN = { person: 'users', group: 'groups' } as const satisfies Record<EntryKind, string>;

/** Counts the entries that remain and lose something, before the rows are written. */
export async function countLosses(
  writer: Writer,
  mapping: DirectoryMapping,
  isSameModel: boolean,
): Promise<Losses> {
  const losses: Record<string, number> = {};
  for (const kind of ['person', 'group'] as const) {
    const watched = watchedOf(mapping, kind).filter(({ isOfModel }) => isSameModel || isOfModel !== true);
    const columns = watched.map(
      ({ isHeld, isLacking }) => `count(*) filter (where (${isHeld}) and (${isLacking}))::integer`,
    );
    const [row] = await writer.query<{ counts: number[] }[]>(
      `select array[${columns.join(', ')}]::integer[] as counts
       from staged s join ${NOUN[kind]} e on e.key = s.key join entries b on b.key = e.key
       where s.kind = '${kind}' and s.reason is null`,
    );
    for (const [index, count] of (row?.counts ?? []).entries())
      if (count > 0) losses[watched[index]?.key ?? ''] = count;
  }
  return losses;
}

interface GuardOptions {
  readonly mapping: DirectoryMapping;
  readonly percent: number;
  readonly isFirst: boolean;
}

/**
 * Checks, before a revision is committed, whether it deletes more entries, or removes an attribute from more entries, than is normal
 * for a directory. If it does, the directory probably has an error, or the account sees only a part of it, and an operator has to
 * confirm. A first revision without users is held, too.
 * @returns the reason why the revision is held, or null
 */
export async function findReasonToHold(
  writer: Writer,
  counts: RevisionCounts,
  losses: Losses,
  { mapping, percent, isFirst }: GuardOptions,
): Promise<string | null> {
  if (isFirst) return counts.users.created === 0 ? 'The first run found no users in the directory' : null;
  const { users, groups, memberships } = counts;
  if (users.deleted + groups.deleted + memberships.removed + Object.keys(losses).length === 0) return null;
  const [facts] = await writer.query<Facts[]>(READ_FACTS);
  if (facts === undefined) return null;
  if (facts.users > 0 && facts.users + users.created - users.deleted === 0)
    return 'The directory no longer contains users';
  const deleted = { users: users.deleted, groups: groups.deleted, memberships: memberships.removed };
  for (const kind of ['users', 'groups', 'memberships'] as const) {
    if (deleted[kind] === 0) continue;
    const stored = kind === 'memberships' ? (await countMemberships(writer)) + deleted[kind] : facts[kind];
    const excess = describeExcess(kind, deleted[kind], stored, facts[`${kind}Before`], percent);
    if (excess !== null) return `It would delete ${excess}`;
  }
  return findExcessiveLoss(writer, losses, facts, { mapping, percent });
}

interface Facts {
  readonly users: number;
  readonly groups: number;
  readonly usersBefore: number;
  readonly groupsBefore: number;
  readonly membershipsBefore: number;
  /** Entries that lost something within the window, by the key of what they lost. */
  readonly lost: Losses;
}

/** The mirror before the revision, and what revisions that were not confirmed deleted within the window. */
const READ_FACTS = `
  with recent as (
    select * from revisions where applied_at > clock_timestamp() - interval '${WINDOW}' and not confirmed)
  select m.user_count as users, m.group_count as groups,
    coalesce((select sum(users_deleted) from recent), 0)::integer as "usersBefore",
    coalesce((select sum(groups_deleted) from recent), 0)::integer as "groupsBefore",
    coalesce((select sum(memberships_removed) from recent), 0)::integer as "membershipsBefore",
    coalesce((select json_object_agg(key, lost) from (
      select l.key, sum(l.value::integer) as lost from recent r cross join lateral jsonb_each_text(r.attributes_lost) l group by 1
    ) l), '{}') as lost
  from mirror_state m`;

async function countMemberships(writer: Writer): Promise<number> {
  const [row] = await writer.query<{ count: number }[]>(
    'select count(*)::integer as count from effective_memberships where direct_role is not null',
  );
  return row?.count ?? 0;
}

async function findExcessiveLoss(
  writer: Writer,
  losses: Losses,
  facts: Facts,
  { mapping, percent }: Pick<GuardOptions, 'mapping' | 'percent'>,
): Promise<string | null> {
  for (const kind of ['person', 'group'] as const) {
    for (const { key, what, isHeld, leastPercent = 0 } of watchedOf(mapping, kind)) {
      const lost = losses[key] ?? 0;
      if (lost === 0) continue;
      const [row] = await writer.query<{ count: number }[]>(
        `select count(*)::integer as count from ${NOUN[kind]} e join entries b on b.key = e.key where ${isHeld}`,
      );
      const before = facts.lost[key] ?? 0;
      const held = (row?.count ?? 0) + lost;
      const excess = describeExcess(NOUN[kind], lost, held, before, Math.max(percent, leastPercent));
      if (excess !== null) return `It would take ${what} from ${excess}`;
    }
  }
  return null;
}

/** Compares a number of deletions now, and before within the window, with the limit. Null: it is allowed. */
function describeExcess(
  kind: 'users' | 'groups' | 'memberships',
  now: number,
  stored: number,
  before: number,
  percent: number,
): string | null {
  const allowed = Math.max(ALWAYS_ALLOWED, Math.floor(((stored + before) * percent) / 100));
  if (now === 0 || now + before <= allowed) return null;
  const earlier = before > 0 ? ` after ${before} shortly before` : '';
  return `${now} of ${stored} ${kind}${earlier}. The guard permits ${allowed} within ${WINDOW}`;
}

function watchedOf(mapping: DirectoryMapping, kind: EntryKind): Watched[] {
  const of = mappingOf(mapping, kind);
  const [name = ''] = of.name;
  const has = (alias: string) => `${alias}.attributes ? '${attributeKey(name).replaceAll("'", "''")}'`;
  const common: Watched[] = [
    {
      key: `${NOUN[kind]}.name`,
      what: `the attribute ${name}`,
      isHeld: has('b'),
      isLacking: `not ${has('s')}`,
    },
    ...of.fields.filter(isMapped).map((field) => ofField(kind, field)),
    ...audiences(NOUN[kind], of.rules, 'visible_to'),
  ];
  if (kind === 'person') return [...common, ...inactivity(mapping.users)];
  const { members, admins, owners, memberRules } = mapping.groups;
  return [
    ...common,
    ...audiences('members', memberRules, 'members_visible_to'),
    ...members.map((form) => ofForm('member', NAMED_AS_MEMBER, form)),
    ...admins.map((form) => ofForm('admin', NAMED_AS_ADMIN, form)),
    ...owners.map((form) => ofForm('owner', NAMED_AS_OWNER, form)),
  ];
}

function ofField(kind: EntryKind, field: Field): Watched {
  const stored = storedName(field).replaceAll("'", "''");
  const { column } = field;
  return {
    key: `${NOUN[kind]}.${field.name}`,
    what: `the attribute ${field.attribute}`,
    isHeld: column === null ? `e.${FIELD_VALUES} ? '${stored}'` : `e.${column} is not null`,
    isLacking:
      column === null
        ? `s."row" -> '${FIELD_VALUES}' ->> '${stored}' is null`
        : `s."row" ->> '${column}' is null`,
  };
}

/** An attribute with members. A group has it if it names any entry there, mirrored or not. */
function ofForm(name: string, role: RoleSum, { attributes, by }: MemberForm): Watched {
  const bit = namedBy(by, role);
  return {
    key: `groups.${name}.${by}`,
    what: `the attribute ${attributes.join(' or ')}`,
    isHeld: `exists (select from "references" r where r.from_key = e.key and r.field = '${MEMBERS}' and r.named_as & ${bit} > 0)`,
    isLacking: `not exists (
      select from staged_references r where r.uuid = s.uuid and r.field = '${MEMBERS}' and r.named_as & ${bit} > 0)`,
  };
}

/** Each audience of a list of rules. An entry without the attribute that a rule reads becomes visible to more viewers. */
function audiences(
  list: 'users' | 'groups' | 'members',
  rules: EntryMapping['rules'],
  column: string,
): Watched[] {
  const filters = rules.map(({ where }) => where);
  return [...new Set(rules.map(({ to }) => AUDIENCE_LEVELS[to]))].map((level) => ({
    key: `visibility.${list}.${level}`,
    what: `the effect of visibility.${list}${attributesRead(filters)}`,
    isHeld: `e.${column} >= ${level}`,
    isLacking: `(s."row" ->> '${column}')::smallint < ${level}`,
    isOfModel: true,
  }));
}

function inactivity({ disabled }: EntryMapping): Watched[] {
  if (disabled === null) return [];
  const attributes = attributesOfFilter(parseFilter(disabled)).map(
    (each) => `'${attributeKey(each).replaceAll("'", "''")}'`,
  );
  const isActive = `(s."row" ->> 'is_active')::boolean`;
  const watched = {
    what: `the effect of users.disabled${attributesRead([disabled])}`,
    isHeld: 'not e.is_active',
    isOfModel: true,
  } as const;
  return [
    {
      ...watched,
      key: 'users.disabled',
      isLacking: `${isActive} and not s.attributes ?& array[${attributes.join(', ')}]::text[]`,
    },
    { ...watched, key: 'users.disabled.all', isLacking: isActive, leastPercent: PERCENT_ON_PURPOSE },
  ];
}

function attributesRead(filters: readonly string[]): string {
  const attributes = new Set(filters.flatMap((filter) => attributesOfFilter(parseFilter(filter))));
  return attributes.size === 0 ? '' : ` (${[...attributes].join(', ')})`;
}
