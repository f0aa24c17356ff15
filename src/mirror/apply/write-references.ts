import { arraysOf, chunksOf } from '../../common/chunks.js';
import { storedName } from '../../common/field.js';
import type { DirectoryMapping } from '../../config/model/mapping.js';
import {
  type ObjectKind,
  REFERENCE_TABLES,
  referenceFields,
} from '../../database/fields/field-references.js';
import type { Writer } from '../../database/statements/statement.js';
import { GROUP_KEYS, NAMED_GROUPS } from '../map/named-groups.js';
import type { MappedGroup, MappedPerson } from '../map/snapshot.js';

const BATCH = 20_000;

interface Reference {
  readonly uuid: string;
  readonly field: string;
  readonly target: string;
}

/**
 * Returns the names under which the references of users or groups are stored: those of fields, and the groups that users name.
 */
export function storedReferences({ users, groups }: DirectoryMapping, kind: ObjectKind): string[] {
  const { fields } = kind === 'user' ? users : groups;
  const naming = kind === 'user' ? NAMED_GROUPS : GROUP_KEYS;
  return [...referenceFields(fields).map(storedName), ...(users.memberOf === undefined ? [] : [naming])];
}

/**
 * Replaces the references of entries that were just written. Without names it does nothing.
 * @param names see storedReferences
 * @param entries those of a preview have null for the groups that they name, which then stay
 */
export async function writeReferences(
  writer: Writer,
  kind: ObjectKind,
  names: readonly string[],
  entries: readonly (MappedPerson | MappedGroup)[],
): Promise<void> {
  if (names.length === 0 || entries.length === 0) return;
  const naming = kind === 'user' ? NAMED_GROUPS : GROUP_KEYS;
  const kept = entries.filter((entry) => entry[naming] === null);
  const others = entries.filter((entry) => entry[naming] !== null);
  if (others.length > 0) await writer.query(deleteReferences(kind, '$1::uuid[]'), arraysOf(others, 'uuid'));
  if (kept.length > 0)
    await writer.query(
      `${deleteReferences(kind, '$1::uuid[]')} and r.field <> '${naming}'`,
      arraysOf(kept, 'uuid'),
    );
  const references = entries.flatMap((entry) => names.flatMap((field) => referencesOf(entry, field)));
  for (const batch of chunksOf(references, BATCH)) {
    await writer.query(
      insertReferences(kind, 'unnest($1::uuid[], $2::text[], $3::text[]) given (uuid, field, target)'),
      arraysOf(batch, 'uuid', 'field', 'target'),
    );
  }
}

const OBJECTS: Readonly<Record<ObjectKind, string>> = { user: 'users', group: 'groups' };

/** @param uuids an array or a query of the entryUUIDs of the objects whose references are deleted */
export function deleteReferences(kind: ObjectKind, uuids: string): string {
  return `delete from ${REFERENCE_TABLES[kind]} r using ${OBJECTS[kind]} o
     where o.entry_uuid = any (${uuids}) and r.from_key = o.key`;
}

/** @param given rows `given` of uuid, field and target */
export function insertReferences(kind: ObjectKind, given: string): string {
  return `insert into ${REFERENCE_TABLES[kind]} (field, from_key, target, from_sort_name)
     select given.field, o.key, given.target, o.sort_name
     from ${given} join ${OBJECTS[kind]} o on o.entry_uuid = given.uuid`;
}

function referencesOf(entry: MappedPerson | MappedGroup, field: string): Reference[] {
  const targets = (entry[field] ?? []) as readonly string[];
  return targets.map((target) => ({ uuid: entry.uuid, field, target }));
}
