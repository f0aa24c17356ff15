import { ServiceError } from '../../../src/common/errors.js';
import { foldValue } from '../../../src/ldap/naming/dn.js';
import { attributeKey, Entry } from '../../../src/ldap/entry.js';
import type { Filter } from '../../../src/ldap/filter/filter.js';
import type { ChangeRecord, ValueChange } from '../../../src/ldap/ldif/ldif-record.js';
import { type RawAttributes, rawValueOf } from '../../../src/mirror/revision/staged-entry.js';

/** An entry whose values are text. */
export function entryOf(dn: string, attributes: Readonly<Record<string, readonly string[]>>): Entry {
  return new Entry(
    dn,
    Object.entries(attributes).map(([name, values]) => [name, values.map((value) => Buffer.from(value))]),
  );
}

/** The attributes of an entry as the mirror stores them. @param omitted attributes that name members, which it does not store */
export function rawAttributes(entry: Entry, omitted: readonly string[] = []): RawAttributes {
  const keys = omitted.map(attributeKey);
  const stored = [...entry.attributes].filter(([key, values]) => values.length > 0 && !keys.includes(key));
  return Object.fromEntries(stored.map(([key, values]) => [key, values.map(rawValueOf)]));
}

/**
 * Applies a modification like a server: values are deleted by name, compared by caseIgnoreMatch, and new values are appended.
 * @throws Error with the server's result: noSuchAttribute, attributeOrValueExists, assertionFailed
 */
export function applyRecord(entry: Entry, record: ChangeRecord): Entry {
  if (record.changetype !== 'modify') throw new Error(`not a modification: ${record.changetype}`);
  if (record.dn !== entry.dn) throw new Error('noSuchObject');
  if (record.assertion !== undefined && !matches(entry, record.assertion)) throw new Error('assertionFailed');
  const attributes = new Map([...entry.attributes.keys()].map((name) => [name, entry.text(name)]));
  for (const change of record.changes) applyChange(attributes, change);
  return entryOf(entry.dn, Object.fromEntries(attributes));
}

function applyChange(attributes: Map<string, string[]>, { operation, attribute, values }: ValueChange): void {
  const key = attribute.toLowerCase();
  const held = attributes.get(key) ?? [];
  if (values.length === 0) throw new Error('protocolError');
  for (const value of values) {
    const index = held.findIndex((each) => foldValue(each) === foldValue(value));
    if (operation === 'add' && index !== -1) throw new Error('attributeOrValueExists');
    if (operation === 'delete' && index === -1) throw new Error('noSuchAttribute');
    if (operation === 'add') held.push(value);
    else held.splice(index, 1);
  }
  if (held.length === 0) attributes.delete(key);
  else attributes.set(key, held);
}

function matches(entry: Entry, filter: Filter): boolean {
  switch (filter.kind) {
    case 'and':
      return filter.filters.every((each) => matches(entry, each));
    case 'not':
      return !matches(entry, filter.filter);
    case 'present':
      return entry.bytes(filter.attribute).length > 0;
    default:
      throw new Error(`not in the model: ${filter.kind}`);
  }
}

/** Returns null when the action is rejected, which is allowed here. */
export function withoutRefusal<Outcome>(act: () => Outcome): Outcome | null {
  try {
    return act();
  } catch (error) {
    if (error instanceof ServiceError) return null;
    throw error;
  }
}

/** The given members. */
export function definedOf(given: object | null): Record<string, unknown> {
  return Object.fromEntries(Object.entries(given ?? {}).filter(([, value]) => value !== undefined));
}
