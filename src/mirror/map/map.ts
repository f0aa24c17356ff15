import { LONGEST_ID } from '../../common/fold.js';
import { faultOfWebsite } from '../../common/url.js';
import type { DirectoryMapping } from '../../config/settings/directory.js';
import { keyOfDn } from '../../ldap/naming/dn-key.js';
import { decodeUtf8, type Entry } from '../../ldap/entry.js';
import { uuidOfEntry } from '../../ldap/naming/entry-uuid.js';
import type { EntryKind } from '../../sources/source.js';
import {
  type Group,
  NAMED_AS_ADMIN,
  NAMED_AS_MEMBER,
  NAMED_AS_OWNER,
  type NamedAs,
  type Person,
  type Quarantined,
  type SourceValues,
} from './snapshot.js';

/** Characters that an attribute may have: what is longer is no name, and would not fit an index either. */
export const LONGEST_LINE = 512;
export const LONGEST_TEXT = 10_000;
/** A school year shares an index entry with a name. */
export const LONGEST_LABEL = 64;

/** The auxiliary classes that the project ships (ldap/directory.schema). */
export const PERSON_CLASS = 'directoryPerson';
export const GROUP_CLASS = 'directoryGroup';

/** A person, with the bytes of the pictures still in hand. */
export interface MappedPerson extends Omit<Person, 'photo' | 'picture'> {
  readonly photo: Buffer | null;
  readonly picture: Buffer | null;
}

/** What became of an entry: something to mirror, unless it was quarantined, and what of it was left out. */
export interface Mapped<Value> {
  readonly value: Value | null;
  readonly quarantined: readonly Quarantined[];
}

/** Maps the entry of a person (pure). */
export function mapPerson(entry: Entry, mapping: DirectoryMapping['people']): Mapped<MappedPerson> {
  const reader = new EntryReader('person', entry);
  const identity = reader.identity(mapping);
  if (identity === null) return reader.nothing();
  const person = {
    ...identity,
    givenName: reader.line(mapping.givenName),
    familyName: reader.line(mapping.familyName),
    email: reader.line(mapping.email),
    schoolYear: reader.label(mapping.schoolYear),
  };
  const sourceValues = reader.sourceValues(PERSON_CLASS, [
    [mapping.name[0], person.name],
    [mapping.givenName, person.givenName],
    [mapping.familyName, person.familyName],
    [mapping.email, person.email],
    [mapping.schoolYear, person.schoolYear],
  ]);
  const photo = entry.bytes(mapping.photo)[0] ?? null;
  const picture = entry.bytes(mapping.picture)[0] ?? null;
  return reader.give({ ...person, sourceValues, photo, picture });
}

/** Maps the entry of a group (pure). */
export function mapGroup(entry: Entry, mapping: DirectoryMapping['groups']): Mapped<Group> {
  const reader = new EntryReader('group', entry);
  const identity = reader.identity(mapping);
  if (identity === null) return reader.nothing();
  const group = {
    ...identity,
    description: reader.text(mapping.description),
    email: reader.line(mapping.email),
    website: reader.website(mapping.website),
  };
  const sourceValues = reader.sourceValues(GROUP_CLASS, [
    [mapping.name[0], group.name],
    [mapping.description, group.description],
    [mapping.email, group.email],
    [mapping.website, group.website],
  ]);
  const references = new Map<string, NamedAs>();
  reader.addReferences(references, mapping.member, NAMED_AS_MEMBER);
  reader.addReferences(references, mapping.admin, NAMED_AS_ADMIN);
  reader.addReferences(references, mapping.owner, NAMED_AS_OWNER);
  return reader.give({ ...group, sourceValues, references });
}

interface Identity {
  readonly uuid: string;
  readonly dn: string;
  readonly dnKey: string;
  readonly id: string;
  readonly name: string;
  readonly createdAt: Date | null;
}

/** Takes attributes out of one entry and notes what is wrong with them. */
class EntryReader {
  private readonly quarantined: Quarantined[] = [];
  private knownUuid: string | null = null;

  constructor(
    private readonly kind: EntryKind,
    private readonly entry: Entry,
  ) {}

  give<Value>(value: Value): Mapped<Value> {
    return { value, quarantined: this.quarantined };
  }

  nothing<Value>(): Mapped<Value> {
    return { value: null, quarantined: this.quarantined };
  }

  /** What every entry needs; null, and a reason, when it is not there. */
  identity(mapping: DirectoryMapping['people'] | DirectoryMapping['groups']): Identity | null {
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

  line(attribute: string): string | null {
    return this.single(attribute, LONGEST_LINE);
  }

  label(attribute: string): string | null {
    return this.single(attribute, LONGEST_LABEL);
  }

  text(attribute: string): string | null {
    return this.single(attribute, LONGEST_TEXT);
  }

  /** RFC 2079: a URL, and after the first space a label. */
  website(attribute: string): string | null {
    const url = this.single(attribute, LONGEST_TEXT)?.split(' ')[0] ?? null;
    const fault = url === null ? null : faultOfWebsite(url);
    return fault === null ? url : this.quarantine(attribute, fault);
  }

  /**
   * Adds the DNs that an attribute holds. One that is not UTF-8 is left out alone: leaving out the attribute would
   * look as if everybody had left the group.
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

  /** What the entry holds beyond the values that are shown; null: nothing (see SourceValues). */
  sourceValues(
    auxiliaryClass: string,
    shown: readonly (readonly [attribute: string | undefined, value: string | null])[],
  ): SourceValues | null {
    const values: Record<string, readonly string[] | null> = {};
    for (const [attribute = '', value] of shown) {
      const raw = this.rawValues(attribute);
      const isShown = raw?.length === (value === null ? 0 : 1) && (value === null || raw[0] === value);
      if (!isShown) values[attribute.toLowerCase()] = raw;
    }
    const classes = this.rawValues('objectClass');
    if (classes?.some((each) => each.toLowerCase() === auxiliaryClass.toLowerCase()) !== true)
      values['objectclass'] = classes;
    return Object.keys(values).length === 0 ? null : values;
  }

  /** Null: one of them is no text that the database could keep. */
  private rawValues(attribute: string): string[] | null {
    const values = this.entry.bytes(attribute).map(decodeUtf8);
    const texts = values.filter((value) => value !== null && !value.includes('\0'));
    return texts.length === values.length ? (texts as string[]) : null;
  }

  /** The first value, without surrounding white space; null when there is none, or none that can be used. */
  private single(attribute: string, longest: number): string | null {
    const [bytes] = this.entry.bytes(attribute);
    if (bytes === undefined) return null;
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

/** Generalized Time (RFC 4517 §3.3.13) as directories write it, in UTC; null when it is written otherwise. */
export function parseGeneralizedTime(text: string): Date | null {
  const parts = /^(\d{4})(\d{2})(\d{2})(\d{2})(\d{2})(\d{2})(?:[.,]\d+)?Z$/.exec(text);
  if (parts === null) return null;
  const [, year, month, day, hour, minute, second] = parts;
  const instant = new Date(
    `${year ?? ''}-${month ?? ''}-${day ?? ''}T${hour ?? ''}:${minute ?? ''}:${second ?? ''}Z`,
  );
  return Number.isNaN(instant.getTime()) ? null : instant;
}
