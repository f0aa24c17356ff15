import { pictureFields } from '../common/field.js';
import { type DirectoryMapping, mappingOf } from '../config/model/mapping.js';
import type { PreviewTransaction } from '../database/statements/preview-transaction.js';
import { withCreated, withJoined, withNamed } from '../database/visibility/viewer.js';
import { Entry } from '../ldap/entry.js';
import { type AddRecord, type ChangeRecord, writeLdif } from '../ldap/ldif/ldif-record.js';
import { identityValues } from '../ldap/naming/entry-uuid.js';
import { keysWithNaming, NAMED_AS_ANYTHING, type NamedAs, type RoleSum } from '../mirror/map/named-by.js';
import { writeEntries } from '../mirror/revision/entries.js';
import {
  bytesOfRaw,
  EntryStager,
  MEMBERS,
  type RawAttributes,
  type RawValue,
} from '../mirror/revision/staged-entry.js';
import { Staging } from '../mirror/revision/staging.js';
import { keyOfDn } from '../ldap/naming/dn-key.js';
import { type Identified, storedKeyOf } from '../sources/reference-key.js';
import type { EntryKind } from '../sources/source.js';
import { ChangePreview } from './change.model.js';
import { changeNames } from './memberships/membership-record.js';
import { omitForgotten } from './mirrored-entries.js';
import { type MirroredGroup, type MirroredUser, READ_AS_OF } from './mirrored-entries.queries.js';

/** A change of entries in a preview: their attributes afterwards, new ones, and those that are deleted. */
interface EntryChange {
  readonly kind: EntryKind;
  readonly uuid: string;
  readonly dn: string;
  /** Null: the entry is deleted. */
  readonly attributes: RawAttributes | null;
  /** How a group names an entry afterwards, where that differs. */
  readonly naming?: {
    readonly keys: readonly { key: string; namedAs: NamedAs }[];
    readonly all: readonly string[];
  };
}

/**
 * Applies a change in a preview transaction as a revision does: maps the attributes of the entry, and writes its rows and all derived
 * data with the same statements.
 */
async function applyChange(
  transaction: PreviewTransaction,
  change: EntryChange,
  mapping: DirectoryMapping,
): Promise<void> {
  const { kind, uuid, attributes, naming } = change;
  const staging = await Staging.begin(transaction);
  if (attributes === null) await staging.remove([uuid]);
  else {
    const entry = entryOf(change, attributes, mapping);
    await staging.add([await stagerOf(mapping).stage(kind, uuid, entry, '')], true);
    await keepAudiences(transaction, kind, uuid);
    // Members are not among the stored attributes. A new group has them in its record.
    await transaction.query(
      `insert into staged_references select $1::uuid, r.field, r.target, r.named_as
       from "references" r join entries e on e.key = r.from_key
       where e.uuid = $1 and r.field = '${MEMBERS}' and not r.target = any ($2::uuid[])`,
      [uuid, naming?.all ?? []],
    );
    for (const { key, namedAs } of naming?.keys ?? [])
      await transaction.query(`insert into staged_references values ($1, '${MEMBERS}', $2, $3)`, [
        uuid,
        key,
        namedAs,
      ]);
  }
  await omitForgotten(transaction);
  await staging.match();
  await staging.settle();
  await writeEntries({ writer: transaction, mapping, isFirst: false, now: new Date() });
  await noteJoined(transaction);
}

/** Rules can test attributes that name members, which are not among the stored ones. A preview changes no audience. */
async function keepAudiences(transaction: PreviewTransaction, kind: EntryKind, uuid: string): Promise<void> {
  const [table, ofMembers] =
    kind === 'person' ? ['users', ''] : ['groups', `, 'members_visible_to', o.members_visible_to`];
  await transaction.query(
    `update staged s set "row" = (s."row"::jsonb || jsonb_build_object('visible_to', o.visible_to${ofMembers}))::json
     from ${table} o where o.entry_uuid = s.uuid and s.uuid = $1 and s."row" is not null`,
    [uuid],
  );
}

/** A user whom the change adds to a group that the viewer administers does not become visible to the viewer. */
async function noteJoined(transaction: PreviewTransaction): Promise<void> {
  const { administeredGroups } = transaction;
  if (administeredGroups.length === 0) return;
  const joined = await transaction.query<{ key: number }[]>(SELECT_JOINED, [administeredGroups]);
  const users = joined.map(({ key }) => key);
  transaction.changeViewer((viewer) => withJoined(viewer, users));
}

/** Who belongs to one of the groups $1 by this change alone. */
const SELECT_JOINED = `
  select c.user_key as key from effective_changes c
  where c.role_before is null and c.role_after is not null and c.group_key = any ($1::integer[])
    and not exists (
      select from effective_memberships m
      where m.user_key = c.user_key and m.group_key = any ($1::integer[]) and not exists (
        select from effective_changes d
        where d.user_key = m.user_key and d.group_key = m.group_key and d.role_before is null))`;

/** A stored picture stands for its bytes: a preview changes no picture. */
function stagerOf(mapping: DirectoryMapping): EntryStager {
  return new EntryStager(mapping, {
    put: (sha256) => Promise.resolve({ sha256 }),
    flush: () => Promise.resolve(),
  });
}

/** The entry as it would be read from the directory, with the digests of its pictures as their bytes. */
function entryOf(
  { kind, uuid, dn }: EntryChange,
  attributes: RawAttributes,
  mapping: DirectoryMapping,
): Entry {
  const { uuid: attribute } = mappingOf(mapping, kind);
  const bytesOf = (value: RawValue) =>
    bytesOfRaw(value) ??
    Buffer.from(typeof value === 'object' && 'sha256' in value ? value.sha256 : '', 'hex');
  return new Entry(dn, [
    ...Object.entries(attributes).map(([key, values]) => [key, values.map(bytesOf)] as const),
    [attribute, identityValues(uuid, attribute).slice(0, 1)] as const,
  ]);
}

/** The attributes of a user without those of pictures that the mirror left out. */
function withoutUnusable({ attributes, values }: MirroredUser, { users }: DirectoryMapping): RawAttributes {
  const unusable = pictureFields(users.fields)
    .filter(({ name }) => values[name] === null || values[name] === undefined)
    .flatMap(({ attributes: names }) => names.map((name) => name.toLowerCase()));
  return Object.fromEntries(Object.entries(attributes).filter(([key]) => !unusable.includes(key)));
}

/** Changes the attributes of a user in a preview transaction. */
export function changeUser(
  transaction: PreviewTransaction,
  user: MirroredUser,
  attributes: RawAttributes,
  mapping: DirectoryMapping,
): Promise<void> {
  const { uuid, dn } = user;
  const usable = withoutUnusable({ ...user, attributes }, mapping);
  return applyChange(transaction, { kind: 'person', uuid, dn, attributes: usable }, mapping);
}

/** Changes the attributes of a group in a preview transaction. Its members stay. */
export function changeAttributes(
  transaction: PreviewTransaction,
  { uuid, dn }: MirroredGroup,
  attributes: RawAttributes,
  mapping: DirectoryMapping,
): Promise<void> {
  return applyChange(transaction, { kind: 'group', uuid, dn, attributes }, mapping);
}

/** Returns the LDIF that makes a change permanent, with what would change. */
export async function previewOf(
  transaction: PreviewTransaction,
  records: readonly ChangeRecord[],
  changes: ChangePreview['changes'],
): Promise<ChangePreview> {
  const [[asOf] = [null]] = await transaction.read<[asOf: Date | null]>(READ_AS_OF);
  return new ChangePreview(writeLdif(records), asOf, changes);
}

/** The keys by which a group names an entry in some attributes. */
function namesOf(kind: EntryKind, entry: Identified, namedAs: NamedAs) {
  return keysWithNaming(kind, entry, namedAs).map((each) => ({ ...each, key: storedKeyOf(each.key) }));
}

interface Naming {
  readonly kind: EntryKind;
  readonly group: MirroredGroup;
  readonly subject: MirroredUser;
  readonly before: NamedAs;
  readonly after: RoleSum;
}

/**
 * Changes how a group names a user or a nested group in a preview transaction, and returns the record that
 * makes the change permanent.
 * @throws ServiceError CONFLICT when the group would be left without members, which its class does not allow
 */
export async function applyNaming(
  transaction: PreviewTransaction,
  { kind, group, subject, before, after }: Naming,
  mapping: DirectoryMapping,
): Promise<ChangeRecord> {
  const { dn, uuid, id, key } = subject;
  const named = { dn, uuid, id: kind === 'person' ? id : null };
  const { record, attributes, namedAs } = changeNames(group, named, before, after, mapping.groups);
  const names = (each: NamedAs) => namesOf(kind, { uuid, dnKey: keyOfDn(dn), id }, each);
  const naming = { keys: names(namedAs), all: names(NAMED_AS_ANYTHING).map((each) => each.key) };
  await applyChange(
    transaction,
    { kind: 'group', uuid: group.uuid, dn: group.dn, attributes, naming },
    mapping,
  );
  if (kind === 'person') transaction.changeViewer((viewer) => withNamed(viewer, key, group.key));
  return record;
}

/**
 * Adds a group to a preview transaction as a revision would, including the memberships of groups
 * that already name its DN.
 * @param uuid the entryUUID that the directory would assign
 */
export async function addGroup(
  transaction: PreviewTransaction,
  { dn, attributes }: AddRecord,
  uuid: string,
  mapping: DirectoryMapping,
): Promise<void> {
  const { administeredGroups } = transaction;
  const written = Object.fromEntries(
    attributes.map(({ attribute, values }) => [attribute.toLowerCase(), values]),
  );
  await applyChange(transaction, { kind: 'group', uuid, dn, attributes: written }, mapping);
  if (!transaction.isPersonal) return;
  const [created] = await transaction.query<{ key: number; uuid: string }[]>(READ_CREATED, [uuid]);
  if (created === undefined) throw new Error('The new group was not written');
  // Users can name the group already. The preview does not show the creator more of them than before.
  const joined = await transaction.query<{ key: number }[]>(READ_JOINED, [created.key, administeredGroups]);
  const users = joined.map(({ key }) => key);
  transaction.changeViewer((viewer) => withJoined(withCreated(viewer, created), users));
}

const READ_CREATED = 'select key, entry_uuid as uuid from groups where entry_uuid = $1';

/** The members of the group $1 who belong to none of the groups $2. */
const READ_JOINED = `
  select m.user_key as key from effective_memberships m
  where m.group_key = $1 and not exists (
    select from effective_memberships o where o.user_key = m.user_key and o.group_key = any ($2::integer[]))`;

/** Removes a group from a preview transaction, and from the groups that name it. */
export async function removeGroup(
  transaction: PreviewTransaction,
  { uuid, dn, id }: MirroredGroup,
  mapping: DirectoryMapping,
): Promise<void> {
  await applyChange(transaction, { kind: 'group', uuid, dn, attributes: null }, mapping);
  const names = namesOf('group', { uuid, dnKey: keyOfDn(dn), id }, NAMED_AS_ANYTHING);
  await transaction.query('delete from "references" where field = $1 and target = any ($2::uuid[])', [
    MEMBERS,
    names.map(({ key }) => key),
  ]);
}
