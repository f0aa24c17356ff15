import { decodeUtf8, type Entry } from '../../ldap/entry.js';
import type { ServerKind } from '../../ldap/client/ldap-connection.js';
import type { EntryKind } from '../../sources/directory.js';
import type { AttributeType } from './attribute-types.js';

/** The largest number of users, and of groups, that are read whole. */
export const MOST_ENTRIES = 200;

/** Entries of one kind, and where they are. */
export interface Sample {
  readonly entries: readonly Entry[];
  /** The containers below which entries of the kind are, relative to the base DN. Empty: the base DN itself. */
  readonly bases: readonly string[];
}

/** What is known about a directory without a model: a part of its entries. */
export interface Evidence {
  readonly server: ServerKind | 'file';
  readonly baseDn: string;
  readonly users: Sample;
  readonly groups: Sample;
  /** The attribute types by name in lower case, as far as the directory publishes them. */
  readonly types: ReadonlyMap<string, AttributeType>;
  /** The users and groups that sampled values name, by keyOfDn. */
  readonly targets: ReadonlyMap<string, EntryKind>;
}

/** An attribute of the sampled entries. */
export interface FoundAttribute {
  /** See attributeKey. */
  readonly key: string;
  /** The name as the directory writes it, or the key. */
  readonly name: string;
  readonly type: AttributeType | null;
  /** The number of entries that have the attribute. */
  readonly count: number;
  /** Distinct values without surrounding white space, a bounded number of them. Null: some are not text. */
  readonly values: readonly string[] | null;
  /** Whether an entry has several values. */
  readonly isMultiple: boolean;
}

/** The largest number of distinct values of an attribute by which its type is guessed. */
const MOST_VALUES = 1000;
/** The longest value that is text for a field. */
const LONGEST = 10_000;

/** Counts the attributes of entries, in the order of their keys (pure). */
export function countAttributes(
  entries: readonly Entry[],
  types: Evidence['types'],
): ReadonlyMap<string, FoundAttribute> {
  const keys = new Set(entries.flatMap((entry) => [...entry.attributes.keys()]));
  return new Map([...keys].sort().map((key) => [key, countAttribute(key, entries, types)]));
}

function countAttribute(key: string, entries: readonly Entry[], types: Evidence['types']): FoundAttribute {
  const having = entries.map((entry) => entry.bytes(key)).filter(({ length }) => length > 0);
  const type = types.get(key.split(';')[0] ?? key) ?? null;
  const options = key.slice((key.split(';')[0] ?? key).length);
  return {
    key,
    name: type === null ? key : `${type.name}${options}`,
    type,
    count: having.length,
    values: textsOf(having.flat()),
    isMultiple: having.some(({ length }) => length > 1),
  };
}

function textsOf(values: readonly Buffer[]): string[] | null {
  const texts = new Set<string>();
  for (const bytes of values.slice(0, MOST_VALUES)) {
    const text = decodeUtf8(bytes);
    if (text === null || text.length > LONGEST || /[^\P{Cc}\t\r\n]/u.test(text)) return null;
    if (text.trim() !== '') texts.add(text.trim());
  }
  return [...texts];
}
