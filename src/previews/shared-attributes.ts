import { type Field, mappedFields, storedName } from '../common/field.js';
import { attributeKey, Entry } from '../ldap/entry.js';
import type { ChangeRecord } from '../ldap/ldif/ldif-record.js';
import { EntryReader } from '../mirror/map/entry-reader.js';
import type { FieldChanges } from './validate.js';

/**
 * Returns the values of the fields that a change does not name, but whose only attribute its record writes (pure): a list of all
 * values beside a field with the first one, for example.
 */
export function valuesBeside(
  change: FieldChanges,
  fields: readonly Field[],
  record: ChangeRecord,
): Record<string, unknown> {
  const written = writtenBy(record);
  const others = mappedFields(fields).filter(({ name, reader, attributes, attribute }) => {
    const isOther = change[name] === undefined && reader !== 'picture';
    return isOther && attributes.length === 1 && written.attributes.has(attributeKey(attribute));
  });
  const values = new EntryReader('person', written).values(others);
  return Object.fromEntries(others.map(storedName).map((name) => [name, values[name]]));
}

/** The attributes that a record changes or adds, with their values after it. The classes of an entry stay as they are. */
function writtenBy(record: ChangeRecord): Entry {
  const attributes = new Map<string, readonly string[]>();
  if (record.changetype === 'add')
    for (const { attribute, values } of record.attributes) attributes.set(attributeKey(attribute), values);
  if (record.changetype === 'modify')
    for (const { operation, attribute, values } of record.changes)
      attributes.set(attributeKey(attribute), operation === 'add' ? values : []);
  attributes.delete('objectclass');
  const bytes = [...attributes].map(
    ([name, values]) => [name, values.map((each) => Buffer.from(each))] as const,
  );
  return new Entry(record.dn, bytes);
}
