import type { DirectoryMapping } from '../../config/settings/directory.js';
import type { Writer } from '../../database/statements/writer.js';
import type { Plan } from './plan.js';
import {
  type Group,
  NAMED_AS_ADMIN,
  NAMED_AS_MEMBER,
  NAMED_AS_OWNER,
  type Person,
  type SourceValues,
} from '../map/snapshot.js';

/** An attribute that entries are about to lose, although they stay. */
export interface AttributeLoss {
  /** Name of the attribute in the directory. */
  readonly attribute: string;
  readonly kind: 'people' | 'groups';
  /** Entries that hold the attribute in the mirror and not in the directory. */
  readonly lost: number;
  /** Entries that hold it in the mirror. */
  readonly held: number;
  /** Entries that have lost it within the window, by plans that were not confirmed. */
  readonly recentlyLost: number;
}

/** An entry of the directory by entryUUID, and which of the watched attributes it does not have: one bit each. */
export interface Lacking {
  readonly uuid: string;
  readonly lacks: number;
}

export interface LackingEntries {
  readonly people: readonly Lacking[];
  readonly groups: readonly Lacking[];
}

/** How many entries lose an attribute, by a key that does not depend on the mapping. */
export type LossCounts = Readonly<Record<string, number>>;

interface Watched<Value> {
  /** Names the attribute in `revisions.attributes_lost`. */
  readonly key: string;
  readonly attribute: (mapping: DirectoryMapping) => string;
  readonly isLacking: (value: Value, mapping: DirectoryMapping) => boolean;
  /** Whether the row `e` holds it (SQL). $1 is the attribute of the name, as a key of source_values. */
  readonly isHeld: string;
}

const OWN_NAME = `coalesce(e.source_values -> $1::text <> '[]'::jsonb, true)`;

const PERSON_ATTRIBUTES: readonly Watched<Person>[] = [
  {
    key: 'people.name',
    attribute: ({ people }) => people.name[0] ?? '',
    isLacking: ({ sourceValues }, { people }) => lacksName(sourceValues, people.name),
    isHeld: OWN_NAME,
  },
  nullable(
    'people.givenName',
    'given_name',
    (m) => m.people.givenName,
    (person) => person.givenName,
  ),
  nullable(
    'people.familyName',
    'family_name',
    (m) => m.people.familyName,
    (person) => person.familyName,
  ),
  nullable(
    'people.email',
    'email',
    (m) => m.people.email,
    (person) => person.email,
  ),
  nullable(
    'people.schoolYear',
    'school_year',
    (m) => m.people.schoolYear,
    (person) => person.schoolYear,
  ),
  nullable(
    'people.photo',
    'photo',
    (m) => m.people.photo,
    (person) => person.photo,
  ),
  nullable(
    'people.picture',
    'picture',
    (m) => m.people.picture,
    (person) => person.picture,
  ),
];

const GROUP_ATTRIBUTES: readonly Watched<Group>[] = [
  {
    key: 'groups.name',
    attribute: ({ groups }) => groups.name[0] ?? '',
    isLacking: ({ sourceValues }, { groups }) => lacksName(sourceValues, groups.name),
    isHeld: OWN_NAME,
  },
  nullable(
    'groups.description',
    'description',
    (m) => m.groups.description,
    (group) => group.description,
  ),
  nullable(
    'groups.email',
    'email',
    (m) => m.groups.email,
    (group) => group.email,
  ),
  nullable(
    'groups.website',
    'website',
    (m) => m.groups.website,
    (group) => group.website,
  ),
  naming('groups.member', NAMED_AS_MEMBER, (m) => m.groups.member),
  naming('groups.admin', NAMED_AS_ADMIN, (m) => m.groups.admin),
  naming('groups.owner', NAMED_AS_OWNER, (m) => m.groups.owner),
];

/** Positions of the bits of pictures in `Lacking.lacks`. */
export const LACKS_PHOTO = 1 << 5;
export const LACKS_PICTURE = 1 << 6;

/** Which watched attributes a person does not have (pure). */
export function lackingOfPerson(person: Person, mapping: DirectoryMapping): number {
  return lackingOf(PERSON_ATTRIBUTES, person, mapping);
}

/** Which watched attributes a group does not have (pure). */
export function lackingOfGroup(group: Group, mapping: DirectoryMapping): number {
  return lackingOf(GROUP_ATTRIBUTES, group, mapping);
}

/** The entries of a plan that may lose an attribute (pure). */
export function lackingInPlan(plan: Plan, mapping: DirectoryMapping): LackingEntries {
  const groups = new Map(
    [...plan.updatedGroups, ...plan.regrouped].map(({ value }) => [
      value.uuid,
      lackingOfGroup(value, mapping),
    ]),
  );
  return {
    people: plan.updatedPeople
      .map(({ value }) => ({ uuid: value.uuid, lacks: lackingOfPerson(value, mapping) }))
      .filter(({ lacks }) => lacks > 0),
    groups: [...groups].map(([uuid, lacks]) => ({ uuid, lacks })).filter(({ lacks }) => lacks > 0),
  };
}

/** How many entries lose which attribute when they come to lack what they are said to lack. */
export async function countLosses(
  manager: Writer,
  entries: LackingEntries,
  mapping: DirectoryMapping,
): Promise<LossCounts> {
  return {
    ...(await countLost(manager, 'users', PERSON_ATTRIBUTES, entries.people, mapping)),
    ...(await countLost(manager, 'groups', GROUP_ATTRIBUTES, entries.groups, mapping)),
  };
}

/**
 * The losses with what the guard compares them with.
 * @param since beginning of the window
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
      attribute: attribute(mapping),
      kind,
      lost: lost[key] ?? 0,
      held: held[index] ?? 0,
      recentlyLost: recently.get(key) ?? 0,
    }));
  };
  return [...(await describe('people', PERSON_ATTRIBUTES)), ...(await describe('groups', GROUP_ATTRIBUTES))];
}

/** Keeps what a revision has taken from entries, for the window of the guard; in the transaction that applies it. */
export async function noteLosses(manager: Writer, revision: number, lost: LossCounts): Promise<void> {
  if (Object.keys(lost).length === 0) return;
  await manager.query('update revisions set attributes_lost = $2::jsonb where id = $1', [
    revision,
    JSON.stringify(lost),
  ]);
}

function nullable<Value>(
  key: string,
  column: string,
  attribute: Watched<Value>['attribute'],
  read: (value: Value) => unknown,
): Watched<Value> {
  return { key, attribute, isLacking: (value) => read(value) === null, isHeld: `e.${column} is not null` };
}

/** An attribute with DNs. Groups name others in it, whether those are mirrored or not. */
function naming(key: string, bit: number, attribute: Watched<Group>['attribute']): Watched<Group> {
  const names = (table: string, column: string) =>
    `exists (select from ${table} r where r.${column} = e.key and r.named_as & ${bit} > 0)`;
  return {
    key,
    attribute,
    isLacking: ({ references }) => ![...references.values()].some((namedAs) => (namedAs & bit) > 0),
    isHeld: `(${names('memberships', 'group_key')} or ${names('nestings', 'outer_key')}
      or ${names('unresolved_references', 'group_key')})`,
  };
}

/** The name is another attribute's, since the entry does not have the first: see SourceValues. */
function lacksName(sourceValues: SourceValues | null, [attribute = '']: readonly string[]): boolean {
  return sourceValues?.[attribute.toLowerCase()]?.length === 0;
}

function lackingOf<Value>(
  watched: readonly Watched<Value>[],
  value: Value,
  mapping: DirectoryMapping,
): number {
  return watched.reduce(
    (bits, { isLacking }, index) => bits | (isLacking(value, mapping) ? 1 << index : 0),
    0,
  );
}

/** Entries that are sent at once. */
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
      `count(*) filter (where case when given.lacks & ${1 << index} > 0 then ${isHeld} end)::integer`,
  );
  for (let start = 0; start < entries.length; start += BATCH) {
    const batch = entries.slice(start, start + BATCH);
    const [row]: { counts: number[] }[] = await manager.query(
      `select array[${columns.join(', ')}] as counts
       from unnest($2::uuid[], $3::integer[]) as given (uuid, lacks) join ${table} e on e.entry_uuid = given.uuid`,
      [nameKeyOf(table, mapping), batch.map(({ uuid }) => uuid), batch.map(({ lacks }) => lacks)],
    );
    row?.counts.forEach((count, index) => (counts[index] = (counts[index] ?? 0) + count));
  }
  return Object.fromEntries(
    watched.map(({ key }, index) => [key, counts[index] ?? 0] as const).filter(([, count]) => count > 0),
  );
}

/** @returns a number for each */
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

function nameKeyOf(table: 'users' | 'groups', { people, groups }: DirectoryMapping): string {
  return ((table === 'users' ? people : groups).name[0] ?? '').toLowerCase();
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
