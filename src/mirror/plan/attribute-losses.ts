import { chunksOf } from '../../common/chunks.js';
import { type Field, mappedFields, storedName } from '../../common/field.js';
import type { DirectoryMapping, RoleMapping } from '../../config/model/mapping.js';
import { FIELD_VALUES } from '../../database/fields/field-columns.js';
import type { Writer } from '../../database/statements/statement.js';
import type { Plan } from './plan.js';
import {
  type MappedGroup,
  NAMED_AS_ADMIN,
  NAMED_AS_MEMBER,
  NAMED_AS_OWNER,
  type MappedPerson,
} from '../map/snapshot.js';

/** An attribute that a plan removes from entries that remain. */
export interface AttributeLoss {
  readonly attribute: string;
  readonly kind: 'people' | 'groups';
  /** Number of entries that have the attribute in the mirror but not in the directory. */
  readonly lost: number;
  readonly held: number;
  /** Number of entries that lost it within the window, through plans that were not confirmed. */
  readonly recentlyLost: number;
}

/**
 * Which watched attributes an entry lacks, as the text of a bit string of PostgreSQL: 1 for each that it lacks, otherwise 0. There
 * are more than an integer has bits.
 */
export type LackingBits = string;

/** An entry of the directory, by entryUUID. */
interface Lacking {
  readonly uuid: string;
  readonly lacks: LackingBits;
}

interface LackingEntries {
  readonly people: readonly Lacking[];
  readonly groups: readonly Lacking[];
}

/** Number of entries that lose an attribute, by a key that does not depend on the mapping. */
export type LossCounts = Readonly<Record<string, number>>;

interface Watched<Value> {
  /** Identifies the attribute in `revisions.attributes_lost`. */
  readonly key: string;
  readonly attribute: string;
  readonly isLacking: (value: Value) => boolean;
  /** SQL condition: the row `e` has the attribute. $1 is the attribute of the name, as in source_values. */
  readonly isHeld: string;
}

function watchedOfPeople({ users }: DirectoryMapping): Watched<MappedPerson>[] {
  return [ownName('people', users.name), ...watchedFields<MappedPerson>('people', users.fields)];
}

function watchedOfGroups({ groups }: DirectoryMapping): Watched<MappedGroup>[] {
  return [
    ownName('groups', groups.name),
    ...watchedFields<MappedGroup>('groups', groups.fields),
    naming('groups.member', NAMED_AS_MEMBER, groups.members),
    naming('groups.admin', NAMED_AS_ADMIN, groups.admins),
    naming('groups.owner', NAMED_AS_OWNER, groups.owners),
  ];
}

/** Returns the watched attributes that entries lack. */
export interface LackingOf {
  readonly person: (person: MappedPerson) => LackingBits;
  readonly group: (group: MappedGroup) => LackingBits;
}

export function lackingBits(mapping: DirectoryMapping): LackingOf {
  const watched = { people: watchedOfPeople(mapping), groups: watchedOfGroups(mapping) };
  return {
    person: (person) => lackingOf(watched.people, person),
    group: (group) => lackingOf(watched.groups, group),
  };
}

export function lackingInPlan(plan: Plan, mapping: DirectoryMapping): LackingEntries {
  const bits = lackingBits(mapping);
  const groups = new Map(
    [...plan.updatedGroups, ...plan.regrouped].map(({ value }) => [value.uuid, bits.group(value)]),
  );
  return {
    people: plan.updatedPeople
      .map(({ value }) => ({ uuid: value.uuid, lacks: bits.person(value) }))
      .filter(({ lacks }) => lacksAny(lacks)),
    groups: [...groups].map(([uuid, lacks]) => ({ uuid, lacks })).filter(({ lacks }) => lacksAny(lacks)),
  };
}

/** Counts, for each attribute, the entries that lack it and still have it in the mirror. */
export async function countLosses(
  manager: Writer,
  entries: LackingEntries,
  mapping: DirectoryMapping,
): Promise<LossCounts> {
  return {
    ...(await countLost(manager, 'users', watchedOfPeople(mapping), entries.people, mapping)),
    ...(await countLost(manager, 'groups', watchedOfGroups(mapping), entries.groups, mapping)),
  };
}

/**
 * Returns the losses with the numbers that the deletion guard compares them with, for the window since a
 * time.
 */
export async function describeLosses(
  manager: Writer,
  lost: LossCounts,
  mapping: DirectoryMapping,
  since: Date,
): Promise<AttributeLoss[]> {
  if (Object.keys(lost).length === 0) return [];
  const recently = await countRecentlyLost(manager, since);
  const describe = async <Value>(kind: AttributeLoss['kind'], watched: readonly Watched<Value>[]) => {
    const wanted = watched.filter(({ key }) => lost[key] !== undefined);
    const held = await countHeld(manager, kind === 'people' ? 'users' : 'groups', wanted, mapping);
    return wanted.map(({ key, attribute }, index) => ({
      attribute,
      kind,
      lost: lost[key] ?? 0,
      held: held[index] ?? 0,
      recentlyLost: recently.get(key) ?? 0,
    }));
  };
  return [
    ...(await describe('people', watchedOfPeople(mapping))),
    ...(await describe('groups', watchedOfGroups(mapping))),
  ];
}

/**
 * Stores the losses of a revision for the window of the deletion guard, in the transaction of the revision.
 */
export async function noteLosses(manager: Writer, revision: number, lost: LossCounts): Promise<void> {
  if (Object.keys(lost).length === 0) return;
  await manager.query('update revisions set attributes_lost = $2::jsonb where id = $1', [
    revision,
    JSON.stringify(lost),
  ]);
}

function watchedFields<Value extends MappedPerson | MappedGroup>(
  kind: AttributeLoss['kind'],
  fields: readonly Field[],
): Watched<Value>[] {
  return mappedFields(fields).map((field) => ({
    key: `${kind}.${field.name}`,
    attribute: field.attribute,
    isLacking: (value) => (value[storedName(field)] ?? null) === null,
    isHeld: `e.${field.column ?? `${FIELD_VALUES} -> '${storedName(field)}'`} is not null`,
  }));
}

/** The name may be from another attribute because the entry lacks the first one: see SourceValues. */
function ownName<Value extends MappedPerson | MappedGroup>(
  kind: AttributeLoss['kind'],
  [attribute = '']: readonly string[],
): Watched<Value> {
  return {
    key: `${kind}.name`,
    attribute,
    isLacking: ({ sourceValues }) => sourceValues?.[attribute.toLowerCase()]?.length === 0,
    isHeld: `coalesce(e.source_values -> $1::text <> '[]'::jsonb, true)`,
  };
}

/** An attribute with DNs. A group has it if it names any entry there, mirrored or not. */
function naming(key: string, bit: number, { attributes }: RoleMapping): Watched<MappedGroup> {
  const names = (table: string, column: string) =>
    `exists (select from ${table} r where r.${column} = e.key and r.named_as & ${bit} > 0)`;
  return {
    key,
    attribute: attributes.join(' or '),
    isLacking: ({ references }) => ![...references.values()].some((namedAs) => (namedAs & bit) > 0),
    isHeld: `(${names('memberships', 'group_key')} or ${names('nestings', 'outer_key')}
      or ${names('unresolved_references', 'group_key')})`,
  };
}

export function lacksAny(lacks: LackingBits): boolean {
  return lacks.includes('1');
}

function lackingOf<Value>(watched: readonly Watched<Value>[], value: Value): LackingBits {
  return watched.map(({ isLacking }) => (isLacking(value) ? '1' : '0')).join('');
}

const BATCH = 20_000;

async function countLost<Value>(
  manager: Writer,
  table: 'users' | 'groups',
  watched: readonly Watched<Value>[],
  entries: readonly Lacking[],
  mapping: DirectoryMapping,
): Promise<LossCounts> {
  const counts = watched.map(() => 0);
  const columns = watched.map(
    ({ isHeld }, index) =>
      `count(*) filter (where case when get_bit(given.lacks, ${index}) = 1 then ${isHeld} end)::integer`,
  );
  for (const batch of chunksOf(entries, BATCH)) {
    const [row]: { counts: number[] }[] = await manager.query(
      `select array[${columns.join(', ')}] as counts
       from unnest($2::uuid[], $3::varbit[]) as given (uuid, lacks) join ${table} e on e.entry_uuid = given.uuid`,
      [nameKeyOf(table, mapping), batch.map(({ uuid }) => uuid), batch.map(({ lacks }) => lacks)],
    );
    row?.counts.forEach((count, index) => (counts[index] = (counts[index] ?? 0) + count));
  }
  return Object.fromEntries(
    watched.map(({ key }, index) => [key, counts[index] ?? 0] as const).filter(([, count]) => count > 0),
  );
}

/** @returns one number for each watched attribute */
async function countHeld<Value>(
  manager: Writer,
  table: 'users' | 'groups',
  watched: readonly Watched<Value>[],
  mapping: DirectoryMapping,
): Promise<readonly number[]> {
  if (watched.length === 0) return [];
  const columns = watched.map(({ isHeld }) => `count(*) filter (where ${isHeld})::integer`);
  const [row]: { counts: number[] }[] = await manager.query(
    `select array[${columns.join(', ')}] as counts from ${table} e where $1::text is not null`,
    [nameKeyOf(table, mapping)],
  );
  return row?.counts ?? [];
}

function nameKeyOf(table: 'users' | 'groups', { users, groups }: DirectoryMapping): string {
  return ((table === 'users' ? users : groups).name[0] ?? '').toLowerCase();
}

async function countRecentlyLost(manager: Writer, since: Date): Promise<Map<string, number>> {
  const rows: { key: string; lost: number }[] = await manager.query(
    `select l.key, sum(l.value::integer)::integer as lost
     from revisions r cross join lateral jsonb_each_text(r.attributes_lost) l
     where r.applied_at > $1 and not r.confirmed group by l.key`,
    [since],
  );
  return new Map(rows.map(({ key, lost }) => [key, lost]));
}
