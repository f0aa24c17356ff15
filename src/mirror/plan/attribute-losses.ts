import { chunksOf } from '../../common/chunks.js';
import type { DirectoryMapping } from '../../config/model/mapping.js';
import type { Writer } from '../../database/statements/statement.js';
import { modelPartsOf } from '../../sources/source.js';
import type { Plan } from './plan.js';
import type { MappedGroup, MappedPerson } from '../map/snapshot.js';
import {
  OF_DISABLED,
  OF_RULES,
  type Watched,
  type WatchedKind,
  watchedOfGroups,
  watchedOfPeople,
} from './watched-values.js';

/** An attribute, or the effect of a rule, that a plan removes from entries that remain. */
export interface AttributeLoss {
  /** The object of a sentence, such as «the attribute mail». */
  readonly what: string;
  readonly kind: WatchedKind;
  /** Number of entries that have it in the mirror but not in the directory. */
  readonly lost: number;
  readonly held: number;
  /** Number of entries that lost it within the window, through plans that were not confirmed. */
  readonly recentlyLost: number;
  /** The share that may always lose it. Undefined: that of the settings. */
  readonly leastPercent?: number | undefined;
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
 * Leaves out what a change of the model explains: with other rules of visibility, entries become visible on purpose.
 * @param before the fingerprint of the mirror
 * @param after that of the source that was read
 */
export function withoutChangedRules(lost: LossCounts, before: string | null, after: string): LossCounts {
  const [old, current] = [modelPartsOf(before ?? ''), modelPartsOf(after)];
  const hasSameRules = old.rules === current.rules;
  // The fingerprint has no part of its own for the filter of `disabled`.
  const hasSameModel = hasSameRules && old.digest === current.digest;
  return Object.fromEntries(
    Object.entries(lost).filter(([key]) =>
      key.startsWith(OF_RULES) ? hasSameRules : !key.startsWith(OF_DISABLED) || hasSameModel,
    ),
  );
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
  const describeAll = async <Value>(kind: WatchedKind, watched: readonly Watched<Value>[]) => {
    const wanted = watched.filter(({ key }) => lost[key] !== undefined);
    const held = await countHeld(manager, kind === 'people' ? 'users' : 'groups', wanted, mapping);
    return wanted.map(({ key, describe, leastPercent }, index) => ({
      what: describe(),
      leastPercent,
      kind,
      lost: lost[key] ?? 0,
      held: held[index] ?? 0,
      recentlyLost: recently.get(key) ?? 0,
    }));
  };
  return [
    ...(await describeAll('people', watchedOfPeople(mapping))),
    ...(await describeAll('groups', watchedOfGroups(mapping))),
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
