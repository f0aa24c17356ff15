import { pictureFields } from '../../common/field.js';
import type { DirectoryMapping } from '../../config/model/mapping.js';
import { addressOf } from '../../database/fields/object-table.js';
import { MOST_CHANGED } from '../../database/revisions/changed-objects.js';
import { Values, type Writer } from '../../database/statements/statement.js';
import type { EntryKind } from '../../sources/source.js';
import { isRespelled } from '../map/content-hash.js';
import { ENTRY_TABLES } from '../map/entry-tables.js';
import { type Plan, sizeOf } from '../plan/plan.js';

/** A user or a group before a plan changes or deletes it. */
export interface Former {
  readonly kind: EntryKind;
  readonly uuid: string;
  readonly key: number;
  readonly id: string;
  readonly idFolded: string;
  /** The audience. 0: everyone. */
  readonly visibleTo: number;
  /** The audience of the members of a group, otherwise 0. */
  readonly membersVisibleTo: number;
  readonly isGone: boolean;
  readonly isRenamed: boolean;
  /** Whether the entry, or the list of members of a group, has another audience afterwards. */
  readonly hasOtherAudience: boolean;
  readonly isRespelled: boolean;
  /** See foundBy. Null in a large plan. */
  readonly found: string | null;
  /** The keys of the pictures of a user. */
  readonly pictures: readonly (Buffer | null)[] | null;
}

interface FormerOptions {
  readonly mapping: DirectoryMapping;
  /** Whether it is necessary to know how the entries are found. */
  readonly withFound: boolean;
  /** Whether it is necessary to know all pictures of changed users. */
  readonly withPictures: boolean;
}

/** Whether a plan counts as a change of everything. */
export function isLarge(plan: Plan): boolean {
  return sizeOf(plan) > MOST_CHANGED;
}

/**
 * Reads what is not known any more after the rows are written, by one statement at most. Without `found` and pictures, only entries
 * that are deleted or respelled, or get another id or audience, are returned.
 */
export async function readFormer(
  writer: Writer,
  plan: Plan,
  { mapping, withFound, withPictures }: FormerOptions,
): Promise<Former[]> {
  const values = new Values();
  const { deletedPeople, updatedPeople, deletedGroups, updatedGroups } = plan;
  const pictures = withPictures ? pictureColumns(mapping, 'e') : [];
  const found = (columns: string) => (withFound ? columns : 'null');
  const selects = [
    ...selectFormer(values, 'person', deletedPeople, updatedPeople, {
      membersVisibleTo: '0',
      found: found(foundBy('e', addressOf('e'))),
      pictures: `array[${pictures.join(', ')}]::bytea[]`,
    }),
    ...selectFormer(values, 'group', deletedGroups, updatedGroups, {
      membersVisibleTo: 'e.members_visible_to',
      found: found(foundBy('e', 'e.members_visible_to')),
      pictures: 'null',
    }),
  ];
  if (selects.length === 0) return [];
  const isAll = `${values.add(withFound || withPictures)}::boolean`;
  return writer.query(
    `select * from (${selects.join(' union all ')}) f where ${isAll} or f."isGone" or f."isRenamed" or f."hasOtherAudience" or f."isRespelled"`,
    [...values.all],
  );
}

function selectFormer(
  values: Values,
  kind: EntryKind,
  deleted: readonly { uuid: string }[],
  updated: Plan['updatedPeople'] | Plan['updatedGroups'],
  columns: Readonly<Record<'membersVisibleTo' | 'found' | 'pictures', string>>,
): string[] {
  if (deleted.length + updated.length === 0) return [];
  const uuids = [...deleted.map(({ uuid }) => uuid), ...updated.map(({ value }) => value.uuid)];
  const none = deleted.map(() => null);
  const ids = [...none, ...updated.map(({ value }) => value.id)];
  const levels = [...none, ...updated.map(({ value }) => value.visibleTo ?? 0)];
  const ofMembers = [
    ...none,
    ...updated.map(({ value }) => ('membersVisibleTo' in value ? (value.membersVisibleTo ?? 0) : 0)),
  ];
  const given =
    `unnest(${values.add(uuids)}::uuid[], ${values.add(ids)}::text[], ${values.add(levels)}::smallint[], ` +
    `${values.add(ofMembers)}::smallint[], ${values.add([...none, ...updated.map((each) => each.contentHash)])}::bytea[])`;
  return [
    `select '${kind}' as kind, e.entry_uuid as uuid, e.key, e.id, e.id_folded as "idFolded", e.visible_to as "visibleTo",
       ${columns.membersVisibleTo}::smallint as "membersVisibleTo", given.id is null as "isGone",
       coalesce(e.id <> given.id, false) as "isRenamed",
       coalesce(e.visible_to <> given.visible_to or ${columns.membersVisibleTo} <> given.members_visible_to, false)
         as "hasOtherAudience",
       coalesce(${isRespelled('e.content_hash', 'given.content_hash')}, false) as "isRespelled",
       ${columns.found}::text as found, ${columns.pictures}::bytea[] as pictures
     from ${given} as given (uuid, id, visible_to, members_visible_to, content_hash) join ${ENTRY_TABLES[kind]} e on e.entry_uuid = given.uuid`,
  ];
}

/** Returns a plan without the entries whose values only get another spelling: it is written, but is no change for clients. */
export function withoutRespelled(plan: Plan, former: readonly Former[]): Plan {
  const respelled = new Set(former.filter((each) => each.isRespelled).map(({ uuid }) => uuid));
  const isChange = ({ value }: Plan['updatedPeople'][number]) => !respelled.has(value.uuid);
  const { updatedPeople: people, updatedGroups: groups } = plan;
  return { ...plan, updatedPeople: people.filter(isChange), updatedGroups: groups.filter(isChange) };
}

/** SQL for the values by which lists in the order of names, searches and lookups find an object, as one value. */
export function foundBy(alias: string, ...others: string[]): string {
  const columns = ['id_folded', 'dn_key', 'sort_name', 'search_text', 'visible_to'];
  return `md5(row(${[...columns.map((column) => `${alias}.${column}`), ...others].join(', ')})::text)`;
}

export function pictureColumns({ users }: DirectoryMapping, alias: string): string[] {
  return pictureFields(users.fields).map(({ name, column }) => `${alias}.${column ?? name}`);
}
