import { type Field, type FieldReader, mappedFields } from '../../common/field.js';
import { LONGEST_ID } from '../../common/fold.js';
import { faultOfWebsite } from '../../common/url.js';
import type { EntryMapping } from '../../config/model/mapping.js';
import { keyOfDn } from '../../ldap/naming/dn-key.js';
import { decodeUtf8, type Entry } from '../../ldap/entry.js';
import { uuidOfEntry } from '../../ldap/naming/entry-uuid.js';
import type { EntryKind } from '../../sources/source.js';
import type { NamedAs, Quarantined, SourceValues } from './snapshot.js';

/** Maximum number of characters of a value. A longer one is not a name, and does not fit into an index. */
export const LONGEST_LINE = 512;
export const LONGEST_TEXT = 10_000;
/** Maximum number of characters of a label, such as a school year. It shares an index entry with a name. */
export const LONGEST_LABEL = 64;

/** The result of mapping an entry: the value, or null if the entry is quarantined, and what was omitted. */
export interface Mapped<Value> {
  readonly value: Value | null;
  readonly quarantined: readonly Quarantined[];
}

interface Identity {
  readonly uuid: string;
  readonly dn: string;
  readonly dnKey: string;
  readonly id: string;
  readonly name: string;
  readonly createdAt: Date | null;
}

export class EntryReader {
  private readonly quarantined: Quarantined[] = [];
  private knownUuid: string | null = null;

  constructor(
    private readonly kind: EntryKind,
    private readonly entry: Entry,
  ) {}

  give<Value>(value: Value | null): Mapped<Value> {
    return { value, quarantined: this.quarantined };
  }

  /** Returns the values that every entry needs, or null if one is missing, and records the reason. */
  identity(mapping: EntryMapping): Identity | null {
    const { dn } = this.entry;
    const uuid = (this.knownUuid = uuidOfEntry(this.entry, mapping.uuid));
    if (uuid === null) {
      const hasUuid = this.entry.bytes(mapping.uuid).length > 0;
      return this.quarantine(null, hasUuid ? `has an ${mapping.uuid} that is none` : 'has a malformed DN');
    }
    const id = this.single(mapping.id, LONGEST_ID);
    if (id === null) return this.quarantine(null, `has no usable ${mapping.id}, which is its id`);
    const names = mapping.name.map((attribute) => this.single(attribute, LONGEST_LINE));
    const name = names.find((each) => each !== null) ?? null;
    if (name === null)
      return this.quarantine(null, `has no usable ${mapping.name.join(' or ')}, which is its name`);
    return { uuid, dn, dnKey: keyOfDn(dn), id, name, createdAt: this.instant(mapping.createdAt) };
  }

  /** Returns the values of those fields of a table that are read one by one, by field name. */
  values(fields: readonly Field[]): Record<string, unknown> {
    return Object.fromEntries(mappedFields(fields).map((field) => [field.name, this.firstOf(field)]));
  }

  private firstOf({ attributes, reader }: Field): unknown {
    for (const attribute of attributes) {
      const value = this.value(attribute, reader);
      if (value !== null) return value;
    }
    return null;
  }

  private value(attribute: string, reader: FieldReader): unknown {
    switch (reader) {
      case 'picture':
        return this.entry.bytes(attribute)[0] ?? null;
      case 'label':
        return this.single(attribute, LONGEST_LABEL);
      case 'text':
      case 'dn':
        return this.single(attribute, LONGEST_TEXT);
      case 'website':
        return this.website(attribute);
      case 'time':
        return this.instant(attribute);
      case 'boolean':
        return this.boolean(attribute);
      case 'lines':
        return this.lines(attribute);
      default:
        return this.single(attribute, LONGEST_LINE);
    }
  }

  /** RFC 2079: a URL, optionally followed by a space and a label. */
  private website(attribute: string): string | null {
    const url = this.single(attribute, LONGEST_TEXT)?.split(' ')[0] ?? null;
    const fault = url === null ? null : faultOfWebsite(url);
    return fault === null ? url : this.quarantine(attribute, fault);
  }

  /** RFC 4517 §3.3.3: TRUE or FALSE. */
  private boolean(attribute: string): boolean | null {
    const value = this.single(attribute, LONGEST_LABEL);
    if (value === null || value === 'TRUE' || value === 'FALSE')
      return value === null ? null : value === 'TRUE';
    return this.quarantine(attribute, 'is neither TRUE nor FALSE');
  }

  private lines(attribute: string): string[] | null {
    const values = this.entry.bytes(attribute).map((bytes) => this.usable(attribute, bytes, LONGEST_LINE));
    const lines = values.filter((value) => value !== null).sort();
    return lines.length === 0 ? null : lines;
  }

  /**
   * Adds the DNs in an attribute. Only values that are not UTF-8 are omitted: without the whole attribute,
   * all members would appear to have left the group.
   */
  addReferences(references: Map<string, NamedAs>, attribute: string, namedAs: NamedAs): void {
    let unreadable = 0;
    for (const value of this.entry.bytes(attribute)) {
      const dn = decodeUtf8(value);
      if (dn === null) {
        unreadable++;
        continue;
      }
      const key = keyOfDn(dn);
      references.set(key, (references.get(key) ?? 0) | namedAs);
    }
    if (unreadable > 0) this.quarantine(attribute, `has ${unreadable} values that are not UTF-8`);
  }

  /**
   * Returns what the attributes that a preview may change hold beyond the projected value, or null (see
   * SourceValues).
   * @param shown the values of the fields
   */
  sourceValues(
    auxiliaryClass: string,
    fields: readonly Field[],
    shown: Readonly<Record<string, unknown>>,
  ): SourceValues | null {
    const values: Record<string, readonly string[] | null> = {};
    for (const { name, attribute } of fields.filter(({ change }) => change !== undefined)) {
      const raw = this.rawValues(attribute);
      const value = shown[name] ?? null;
      const isShown = raw?.length === (value === null ? 0 : 1) && (value === null || raw[0] === value);
      if (!isShown) values[attribute.toLowerCase()] = raw;
    }
    const classes = this.rawValues('objectClass');
    if (classes?.some((each) => each.toLowerCase() === auxiliaryClass.toLowerCase()) !== true)
      values['objectclass'] = classes;
    return Object.keys(values).length === 0 ? null : values;
  }

  /** Returns null if one of the values is not text that the database can store. */
  private rawValues(attribute: string): string[] | null {
    const values = this.entry.bytes(attribute).map(decodeUtf8);
    const texts = values.filter((value) => value !== null && !value.includes('\0'));
    return texts.length === values.length ? (texts as string[]) : null;
  }

  /** Returns the first value without surrounding white space, or null if it is missing or unusable. */
  private single(attribute: string, longest: number): string | null {
    const [bytes] = this.entry.bytes(attribute);
    return bytes === undefined ? null : this.usable(attribute, bytes, longest);
  }

  private usable(attribute: string, bytes: Buffer, longest: number): string | null {
    const value = decodeUtf8(bytes)?.trim() ?? null;
    if (value === null) return this.quarantine(attribute, 'is not UTF-8');
    if (value === '') return null;
    if (value.includes('\0')) return this.quarantine(attribute, 'has a NUL character');
    if (value.length > longest) return this.quarantine(attribute, `has more than ${longest} characters`);
    return value;
  }

  private instant(attribute: string): Date | null {
    const value = this.single(attribute, LONGEST_ID);
    return value === null ? null : parseGeneralizedTime(value);
  }

  private quarantine(attribute: string | null, reason: string): null {
    const { kind, knownUuid: uuid } = this;
    this.quarantined.push({ kind, dn: this.entry.dn, uuid, id: null, attribute, reason });
    return null;
  }
}

/**
 * Parses Generalized Time (RFC 4517 §3.3.13) in the form that directories write, in UTC; null for any other
 * form.
 */
export function parseGeneralizedTime(text: string): Date | null {
  const parts = /^(\d{4})(\d{2})(\d{2})(\d{2})(\d{2})(\d{2})(?:[.,]\d+)?Z$/.exec(text);
  if (parts === null) return null;
  const [, year, month, day, hour, minute, second] = parts;
  const instant = new Date(
    `${year ?? ''}-${month ?? ''}-${day ?? ''}T${hour ?? ''}:${minute ?? ''}:${second ?? ''}Z`,
  );
  return Number.isNaN(instant.getTime()) ? null : instant;
}
