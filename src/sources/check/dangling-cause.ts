import { foldId } from '../../common/identity.js';
import { type DirectoryMapping, mappingOf, type NamedBy } from '../../config/model/mapping.js';
import { escapeDnValue, InvalidDnError, isBelow, parseDn } from '../../ldap/naming/dn.js';
import type { ReferenceOrigin } from './named-values.js';

/** What is known about a directory when references to it dangle. */
export interface KnownEntries {
  readonly mapping: DirectoryMapping;
  readonly baseDn: string;
  /** The folded ids, and the UUIDs, of the mirrored users. */
  readonly ids: ReadonlySet<string>;
  readonly uuids: ReadonlySet<string>;
  /** Whether the account sees the entries that some values name. Empty: they were not looked up. */
  readonly seen: ReadonlyMap<string, boolean>;
}

export interface Example {
  readonly text: string;
  readonly origin: ReferenceOrigin;
}

/** Returns what to set in the model so that references find entries, for the cause of most (pure). It contains no value. */
export function cureOfDangling(examples: readonly Example[], known: KnownEntries | undefined): string {
  const general = 'set base and filter of users and groups so that they select what is named';
  if (known === undefined) return general;
  const counts = new Map<string, number>();
  const lookedUp = examples.filter(({ text }) => known.seen.has(text));
  for (const example of lookedUp.length === 0 ? examples : lookedUp) {
    const cure = cureOf(example, known);
    counts.set(cure, (counts.get(cure) ?? 0) + 1);
  }
  const [most] = [...counts].sort(([, left], [, right]) => right - left);
  return most?.[0] ?? general;
}

function cureOf({ text, origin }: Example, known: KnownEntries): string {
  const other = otherName(text, origin.by, known);
  if (other !== null) return cureOfName(origin, other);
  if (origin.by !== 'dn') {
    const keys = ['base', 'filter', ...(origin.by === 'id' ? ['id'] : [])].map((key) => `users.${key}`);
    return `set ${keys.slice(0, -1).join(', ')} and ${keys.at(-1) ?? ''} so that they select the users that ${origin.key} names`;
  }
  return cureOfDn(text, origin, known);
}

/** How a text names a user, if not in the way that the model says. */
function otherName(text: string, by: NamedBy, { ids, uuids }: KnownEntries): NamedBy | 'text' | null {
  if (depthOf(text) > 0) return by === 'dn' ? null : 'dn';
  if (by !== 'id' && ids.has(foldId(text))) return 'id';
  if (by !== 'uuid' && uuids.has(text.toLowerCase())) return 'uuid';
  return by === 'dn' ? 'text' : null;
}

function cureOfName({ key }: ReferenceOrigin, named: NamedBy | 'text'): string {
  const what = { dn: 'DNs', id: 'ids of users', uuid: 'entryUUIDs', text: 'no DNs' }[named];
  // The references of fields are DNs.
  if (key.includes('.fields.')) return `set ${key}.type to String, because its values are ${what}`;
  return named === 'text'
    ? `set ${key}.attribute to an attribute with DNs, because the values of this one are not DNs`
    : `set ${key}.by to ${named}, because its values are ${what}`;
}

/** The largest number of values of each list of examples that are looked up. */
const MOST_LOOKED_UP = 20;

/** Looks up what some of the values name. @param sees whether the account sees the entry with a DN */
export async function lookUp(
  examples: readonly (readonly Example[])[],
  sees: (dn: string) => Promise<boolean>,
): Promise<Map<string, boolean>> {
  const seen = new Map<string, boolean>();
  for (const { text } of examples.flatMap((each) => each.slice(0, MOST_LOOKED_UP)))
    seen.set(text, depthOf(text) > 0 && (await sees(text)));
  return seen;
}

function cureOfDn(text: string, { lists }: ReferenceOrigin, known: KnownEntries): string {
  const { mapping, baseDn, seen } = known;
  if (!isBelow(text, baseDn))
    return `set DIRECTORY_BASE_DN to an entry above what is named, which is not below ${baseDn}`;
  const covering = lists.flatMap((list) => {
    const { bases } = mappingOf(mapping, list === 'users' ? 'person' : 'group');
    return bases.filter((base) => isBelow(text, base)).map((base) => ({ list, base }));
  });
  const [first] = covering;
  if (first !== undefined) {
    const isSeen = seen.get(text);
    if (isSeen === false)
      return `let the account read what is named below ${first.base}, or remove the DNs of deleted entries`;
    const filters = [...new Set(covering.map(({ list }) => `${list}.filter`))].join(' or ');
    const selecting = `set ${filters} so that it selects what is named below ${first.base}`;
    return isSeen === true ? selecting : `${selecting}, or remove the DNs of deleted entries`;
  }
  const values = lists.map((list) => `${list}.base to ${describeBases(list, text, { mapping, baseDn })}`);
  return `set ${values.join(', or ')}`;
}

/** The bases of a list, relative to the base DN, and the one that is missing. */
function describeBases(
  list: 'users' | 'groups',
  text: string,
  { mapping, baseDn }: Pick<KnownEntries, 'mapping' | 'baseDn'>,
): string {
  const { bases } = mappingOf(mapping, list === 'users' ? 'person' : 'group');
  const relative = bases.map((base) => base.slice(0, Math.max(0, base.length - baseDn.length - 1)));
  return `[${[...relative, containerOf(text, baseDn)].map((base) => JSON.stringify(base)).join(', ')}]`;
}

/** Types of the relative DNs of containers. Others can be personal. */
const CONTAINERS: readonly string[] = ['ou', 'o', 'cn', 'dc', 'l', 'st', 'c'];

/** The container directly below the base DN that has an entry; empty for the base DN. */
function containerOf(text: string, baseDn: string): string {
  const rdns = parseDn(text);
  const depth = rdns.length - parseDn(baseDn).length;
  const [pair] = depth < 2 ? [] : (rdns[depth - 1] ?? []);
  if (pair === undefined || typeof pair.value !== 'string') return '';
  return CONTAINERS.includes(pair.type.toLowerCase()) ? `${pair.type}=${escapeDnValue(pair.value)}` : '';
}

/** The number of relative DNs of a DN; 0 for other texts. */
function depthOf(text: string): number {
  try {
    return parseDn(text).length;
  } catch (error) {
    if (error instanceof InvalidDnError) return 0;
    throw error;
  }
}
