import {
  type Field,
  type FieldReader,
  isList,
  isMapped,
  MOST_REFERENCES,
  storedName,
} from '../../common/field.js';
import { LONGEST_ID } from '../../common/identity.js';
import { inOneLine } from '../../common/printable.js';
import { faultOfWebsite, parseUrl } from '../../common/url.js';
import type { EntryMapping, NamedBy, RoleMapping } from '../../config/model/mapping.js';
import { keyOfDn, uuidOfEntry } from '../../ldap/naming/identifiers.js';
import { attributeKey, decodeUtf8, type Entry } from '../../ldap/entry.js';
import {
  type NamedAs,
  namedBy,
  nameInValue,
  referenceKeyOf,
  type RoleSum,
} from '../../sources/references.js';
import type { Steps } from './steps.js';

/** Maximum number of characters of a value. A longer one is not a name, and does not fit into an index. */
export const LONGEST_LINE = 512;
export const LONGEST_TEXT = 10_000;
/** Maximum number of characters of a label, such as a school year. It shares an index entry with a name. */
export const LONGEST_LABEL = 64;
/** Maximum number of bytes of an id and a name, which share an index entry with the folded name. */
const LONGEST_NAMED = 1600;
/** Maximum number of values of a list. Further values are omitted. */
const MOST_VALUES = 1000;

/** Maximum number of characters of a value. For all other readers it is that of a line. */
const LONGEST: Partial<Record<FieldReader, number>> = {
  label: LONGEST_LABEL,
  boolean: LONGEST_LABEL,
  text: LONGEST_TEXT,
  website: LONGEST_TEXT,
  url: LONGEST_TEXT,
};

/** Number of references that are read in one step. */
const REFERENCES_PER_STEP = 1000;

const UNREADABLE: Readonly<Record<NamedBy, string>> = {
  dn: 'are not UTF-8',
  id: 'are not ids',
  uuid: 'are not UUIDs',
};

/** An entry, or one attribute of it, that was omitted, and the reason. The run continues without it. */
interface Quarantined {
  readonly attribute: string | null;
  /** The end of a sentence whose subject is the entry or the attribute. */
  readonly reason: string;
}

/** The result of mapping an entry: the value, or null if the entry is quarantined, and what was omitted. */
export interface Mapped<Value> {
  readonly value: Value | null;
  readonly quarantined: readonly Quarantined[];
}

/** What every user and group has. */
export interface EntryIdentity {
  readonly uuid: string;
  readonly dn: string;
  /** Identifies the DN: see keyOfDn. */
  readonly dnKey: string;
  readonly id: string;
  readonly name: string;
  /** The time at which the entry was created, if the directory provides it. */
  readonly createdAt: Date | null;
}

export class EntryReader {
  private readonly quarantined: Quarantined[] = [];

  constructor(private readonly entry: Entry) {}

  give<Value>(value: Value | null): Mapped<Value> {
    return { value, quarantined: this.quarantined };
  }

  /** Returns the values that every entry needs, or null if one is missing, and records the reason. */
  identity(mapping: EntryMapping): EntryIdentity | null {
    const { dn } = this.entry;
    const uuid = uuidOfEntry(this.entry, mapping.uuid);
    if (uuid === null) {
      const hasUuid = this.entry.bytes(mapping.uuid).length > 0;
      return this.quarantine(
        null,
        hasUuid ? `has an ${mapping.uuid} that is not a UUID` : 'has a malformed DN',
      );
    }
    const id = this.single(mapping.id, LONGEST_ID);
    if (id === null) return this.quarantine(null, `has no usable ${mapping.id}, which is its id`);
    const names = mapping.name.map((attribute) => this.single(attribute, LONGEST_LINE));
    const name = names.find((each) => each !== null) ?? null;
    if (name === null)
      return this.quarantine(null, `has no usable ${mapping.name.join(' or ')}, which is its name`);
    if (Buffer.byteLength(id + name) > LONGEST_NAMED)
      return this.quarantine(null, `has an id and a name of more than ${LONGEST_NAMED} bytes`);
    return { uuid, dn, dnKey: keyOfDn(dn), id, name, createdAt: this.instant(mapping.createdAt) };
  }

  /** Returns the values of those fields of a table that are read one by one, by storedName. */
  values(fields: readonly Field[]): Record<string, unknown> {
    return Object.fromEntries(
      fields.filter(isMapped).map((field) => [storedName(field), this.firstOf(field)]),
    );
  }

  private firstOf(field: Field): unknown {
    for (const attribute of field.attributes) {
      const value = this.value(attribute, field);
      if (value !== null) return value;
    }
    return null;
  }

  private value(attribute: string, field: Field): unknown {
    const values = this.read(attribute);
    const [first] = values;
    if (first === undefined) return null;
    if (field.reader === 'picture') return first;
    if (field.reader === 'reference') return this.targets(attribute, field, values);
    return isList(field) ? this.list(attribute, field, values) : this.parse(attribute, field, first);
  }

  /** Returns the targets of references, as the table `references` has them. An entry that a DN names may not exist yet. */
  private targets(attribute: string, field: Field, values: readonly Buffer[]): string[] | null {
    const most = isList(field) ? MOST_REFERENCES : 1;
    if (isList(field) && values.length > most) this.quarantine(attribute, `has more than ${most} values`);
    const known = new Set<string>();
    for (const bytes of values.slice(0, most)) {
      const text = this.usable(attribute, bytes, LONGEST_TEXT);
      if (text !== null) known.add(keyOfDn(text));
    }
    return known.size === 0 ? null : [...known].sort();
  }

  /** Returns the values that fit, without duplicates, in the order of their type. */
  private list(attribute: string, field: Field, values: readonly Buffer[]): unknown[] | null {
    if (values.length > MOST_VALUES) this.quarantine(attribute, `has more than ${MOST_VALUES} values`);
    const parsed = values.slice(0, MOST_VALUES).map((bytes) => this.parse(attribute, field, bytes));
    const known = [...new Set(parsed.filter((value) => value !== null))];
    return known.length === 0 ? null : known.sort(byValue);
  }

  private parse(attribute: string, field: Field, bytes: Buffer): string | number | boolean | null {
    const text = this.usable(attribute, bytes, LONGEST[field.reader] ?? LONGEST_LINE);
    const value = text === null ? null : parseValue(field, text);
    return value instanceof Misfit ? this.quarantine(attribute, value.reason) : value;
  }

  /**
   * Adds what the attributes of a role name. Only values that cannot name an entry are omitted: without the
   * whole attribute, all members would appear to have left the group.
   */
  *addReferences(references: Map<string, NamedAs>, forms: RoleMapping, role: RoleSum): Steps<void> {
    for (const { attribute, by } of forms.flatMap(attributesIn)) {
      const namedAs = namedBy(by, role);
      let unreadable = 0;
      for (const [index, value] of this.read(attribute).entries()) {
        if (index % REFERENCES_PER_STEP === REFERENCES_PER_STEP - 1) yield;
        const named = nameInValue(attribute, by, value);
        const key = named === null ? null : referenceKeyOf(by, named);
        if (key === null) unreadable++;
        else references.set(key, (references.get(key) ?? 0) | namedAs);
      }
      if (unreadable > 0) this.quarantine(attribute, `has ${unreadable} values that ${UNREADABLE[by]}`);
    }
  }

  /** Returns the first value without surrounding white space, or null if it is missing or unusable. */
  private single(attribute: string, longest: number): string | null {
    const [bytes] = this.read(attribute);
    return bytes === undefined ? null : this.usable(attribute, bytes, longest);
  }

  private read(attribute: string): readonly Buffer[] {
    if (this.entry.withUrls.has(attributeKey(attribute)))
      this.quarantine(attribute, 'has a value by URL, which is not read');
    return this.entry.bytes(attribute);
  }

  /** A text is one line, unless it may be as long as LONGEST_TEXT. */
  private usable(attribute: string, bytes: Buffer, longest: number): string | null {
    const text = decodeUtf8(bytes);
    if (text === null) return this.quarantine(attribute, 'is not UTF-8');
    const value = (longest === LONGEST_TEXT ? text : inOneLine(text)).trim();
    if (value === '') return null;
    if (value.includes('\0')) return this.quarantine(attribute, 'has a NUL character');
    if (value.length > longest) return this.quarantine(attribute, `has more than ${longest} characters`);
    return value;
  }

  private instant(attribute: string): Date | null {
    const value = this.single(attribute, LONGEST_ID);
    const instant = value === null ? null : parseValue({ reader: 'time' }, value);
    return value === null || typeof instant !== 'string' ? parseRfc3339(value ?? '') : new Date(instant);
  }

  private quarantine(attribute: string | null, reason: string): null {
    const isKnown = this.quarantined.some((each) => each.attribute === attribute && each.reason === reason);
    if (!isKnown) this.quarantined.push({ attribute, reason });
    return null;
  }
}

function attributesIn({ attributes, by }: RoleMapping[number]) {
  return attributes.map((attribute) => ({ attribute, by }));
}

/** False before true, numbers by value, text by code units. */
function byValue(left: string | number | boolean, right: string | number | boolean): number {
  return left < right ? -1 : left > right ? 1 : 0;
}

/** The reason why a value does not fit its field: the end of a sentence whose subject is the attribute. */
export class Misfit {
  /** @param reason never contains the value */
  constructor(readonly reason: string) {}
}

type Parsed = string | number | boolean | null | Misfit;

const INTEGER = 2 ** 31;

/** Parses one value of a field (pure), without surrounding white space. Null: the value means that there is none. */
export function parseValue({ reader }: Pick<Field, 'reader'>, text: string): Parsed {
  return (PARSERS[reader] ?? same)(text);
}

const PARSERS: Partial<Record<FieldReader, (text: string) => Parsed>> = {
  website: parseWebsite,
  url: parseAbsoluteUrl,
  boolean: parseBoolean,
  integer: parseInteger,
  number: parseNumber,
  time: parseInstant,
};

function same(text: string): string {
  return text;
}

/** RFC 2079: a URL, optionally followed by a space and a label. */
function parseWebsite(text: string): string | Misfit {
  const [url = ''] = text.split(' ');
  const fault = faultOfWebsite(url);
  return fault === null ? url : new Misfit(fault);
}

/** Schemes whose URLs run a program, or are a document of their own, where a page links to them. */
const ACTIVE_SCHEMES = new Set(['javascript:', 'vbscript:', 'data:', 'blob:']);

/** RFC 3986 §4.3 with any scheme, in the form of the WHATWG URL standard. A label may follow (RFC 2079). */
function parseAbsoluteUrl(text: string): string | Misfit {
  const url = parseUrl(text.split(' ')[0] ?? '');
  if (url === null) return new Misfit('is not an absolute URL');
  return ACTIVE_SCHEMES.has(url.protocol) ? new Misfit('is a URL that a page would run') : url.href;
}

/** RFC 4517 §3.3.3: TRUE or FALSE. */
function parseBoolean(text: string): boolean | Misfit {
  if (text === 'TRUE' || text === 'FALSE') return text === 'TRUE';
  return new Misfit('is neither TRUE nor FALSE');
}

/** RFC 4517 §3.3.16, within 32 bits as GraphQL requires. */
function parseInteger(text: string): number | Misfit {
  const value = /^-?\d+$/.test(text) ? Number(text) : NaN;
  if (Number.isNaN(value)) return new Misfit('is not a whole number');
  return value >= -INTEGER && value < INTEGER ? value + 0 : new Misfit('has more than 32 bits');
}

function parseNumber(text: string): number | Misfit {
  const isNumber = /^[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?$/.test(text);
  const value = isNumber ? Number(text) : NaN;
  return Number.isFinite(value) ? value + 0 : new Misfit('is not a finite number');
}

/** Active Directory: no instant, such as an account that never expires. */
const NEVER = new Set(['0', '9223372036854775807']);
/** A shorter count, of the years before 1605, would look like Generalized Time without a zone. */
const COUNT = /^\d{15,19}$/;
/** Whether a text is a count of 100 nanoseconds since 1601. */
export function isCount(text: string): boolean {
  return NEVER.has(text) || COUNT.test(text);
}

/** The count of 100 nanoseconds since 1601 at an instant. */
export function countOf(instant: Date): string {
  return String((BigInt(instant.getTime()) + SINCE_1601) * 10_000n);
}

/** Milliseconds between the beginning of 1601 and of 1970. */
const SINCE_1601 = 11_644_473_600_000n;
const EARLIEST = Date.parse('0001-01-01T00:00:00Z');
const LATEST = Date.parse('9999-12-31T23:59:59.999Z');

/** An instant in UTC (RFC 3339): from Generalized Time, or from the count of 100 nanoseconds since 1601 of Active Directory. */
function parseInstant(text: string): string | null | Misfit {
  if (NEVER.has(text)) return null;
  const time = COUNT.test(text) ? Number(BigInt(text) / 10_000n - SINCE_1601) : timeOf(text);
  if (Number.isNaN(time)) return new Misfit('is not Generalized Time');
  if (time < EARLIEST || time > LATEST) return new Misfit('is not in the years 1 to 9999');
  return new Date(time).toISOString();
}

/** RFC 4517 §3.3.13. The fraction is of the smallest unit that is present. */
const GENERALIZED_TIME =
  /^(\d{4})(0[1-9]|1[0-2])(0[1-9]|[12]\d|3[01])([01]\d|2[0-3])(?:([0-5]\d)([0-5]\d|60)?)?(?:[.,](\d+))?(?:Z|([+-])([01]\d|2[0-3])([0-5]\d)?)$/;

/** Milliseconds since 1970; NaN if it is not Generalized Time. */
function timeOf(text: string): number {
  const parts = GENERALIZED_TIME.exec(text);
  if (parts === null) return NaN;
  const [, year = '', month = '', day = '', hour, minute, second, fraction, sign, hours, minutes] = parts;
  const date = new Date(`${year}-${month}-${day}T00:00:00Z`);
  // A day that the month does not have would become one of the next month.
  if (date.getUTCDate() !== Number(day)) return NaN;
  const unit = second !== undefined ? 1000 : minute !== undefined ? 60_000 : 3_600_000;
  const ofDay = milliseconds(hour, minute, second) + Math.floor(Number(`0.${fraction ?? '0'}`) * unit);
  return date.getTime() + ofDay - (sign === '-' ? -1 : 1) * milliseconds(hours, minutes);
}

function milliseconds(hours = '0', minutes = '0', seconds = '0'): number {
  return ((Number(hours) * 60 + Number(minutes)) * 60 + Number(seconds)) * 1000;
}

/** Parses a time of RFC 3339, which lldap writes instead of Generalized Time; null for any other form. */
export function parseRfc3339(text: string): Date | null {
  const parts = /^(\d{4}-\d{2}-(\d{2}))T\d{2}:\d{2}:\d{2}(?:\.\d{1,9})?(?:Z|[+-]\d{2}:\d{2})$/.exec(text);
  if (parts === null) return null;
  // A day that the month does not have would become one of the next month.
  if (new Date(parts[1] ?? '').getUTCDate() !== Number(parts[2])) return null;
  const instant = new Date(text);
  return Number.isNaN(instant.getTime()) ? null : instant;
}

/** Returns the value of a field as its attribute has it (pure): the inverse of parseValue. */
export function textOfValue({ reader }: Pick<Field, 'reader'>, value: unknown): string | null {
  if (value === null || value === undefined) return null;
  if (reader === 'boolean') return value === true ? 'TRUE' : 'FALSE';
  if (value instanceof Date || reader === 'time') return generalizedTime(new Date(value as string | Date));
  if (value instanceof URL) return value.href;
  return typeof value === 'number' ? String(value) : (value as string);
}

/** RFC 4517 §3.3.13, in UTC, with milliseconds only if there are some. */
function generalizedTime(instant: Date): string {
  const [date = '', milliseconds = '000Z'] = instant.toISOString().split('.');
  return `${date.replace(/[-:T]/g, '')}${milliseconds === '000Z' ? 'Z' : `.${milliseconds}`}`;
}
