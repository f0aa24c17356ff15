import { type Finding, ok, warning } from '../../common/finding.js';
import { foldId } from '../../common/identity.js';
import { type DirectoryMapping, mappingOf } from '../../config/model/mapping.js';
import {
  type ObjectKind,
  type ReferenceField,
  referenceFields,
} from '../../database/fields/field-references.js';
import { decodeUtf8, type Entry } from '../../ldap/entry.js';
import { type Identified, referenceKeyOf } from '../reference-key.js';
import { type EntryKind, KINDS } from '../source.js';

/** The share of references without an entry, as one of so many, above which there is a warning. */
const TOLERATED = 5;

interface Counted {
  readonly kind: EntryKind;
  readonly field: ReferenceField;
  /** The number of entries that name it, by referenceKeyOf. */
  readonly named: Map<string, number>;
}

/** Counts the references of own fields, and those among them that name no mirrored entry. */
export class OwnReferenceStatistics {
  private readonly fields: readonly Counted[];
  private readonly known: Readonly<Record<ObjectKind, Set<string>>> = { user: new Set(), group: new Set() };

  constructor(mapping: DirectoryMapping) {
    this.fields = KINDS.flatMap((kind) =>
      referenceFields(mappingOf(mapping, kind).fields).map((field) => ({ kind, field, named: new Map() })),
    );
  }

  /** @param identity null if the mirror rejects the entry */
  add(kind: EntryKind, entry: Entry, identity: Identified | null): void {
    if (identity === null || this.fields.length === 0) return;
    const { uuid, dnKey, id } = identity;
    const known = this.known[kind === 'person' ? 'user' : 'group'];
    for (const key of [dnKey, `uuid:${uuid}`, `id:${foldId(id)}`]) known.add(key);
    for (const { field, named } of this.fields.filter((each) => each.kind === kind)) {
      for (const bytes of field.attributes.flatMap((attribute) => entry.bytes(attribute))) {
        const text = decodeUtf8(bytes);
        const key = text === null ? null : referenceKeyOf(field.reference.by ?? 'dn', text);
        if (key !== null) named.set(key, (named.get(key) ?? 0) + 1);
      }
    }
  }

  /** How many references each field has, with a warning where many name no entry. It contains no names of entries. */
  *findings(): Generator<Finding> {
    for (const { kind, field, named } of this.fields) {
      const { to } = field.reference;
      let [total, dangling] = [0, 0];
      for (const [key, count] of named) {
        total += count;
        if (!this.known[to].has(key)) dangling += count;
      }
      const list = kind === 'person' ? 'users' : 'groups';
      const text = `${list}.${field.name}: ${total - dangling} of ${total} values name a mirrored ${to}`;
      const cure = `set base and filter of ${to}s so that they select what ${field.attribute} names, or by if it has no DNs`;
      yield dangling * TOLERATED > total ? warning('references', `${text}: ${cure}`) : ok('references', text);
    }
  }
}
