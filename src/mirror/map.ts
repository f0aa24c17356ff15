import type { DirectoryMapping } from '../config/config.js';
import { InvalidDnError } from '../ldap/dn.js';
import { decodeUtf8, type Entry } from '../ldap/entry.js';
import { uuidOfDn } from '../ldap/entry-uuid.js';
import type { MappedGroup, Person, Quarantined, Rank } from './snapshot.js';

/** Characters that an attribute may have: what is longer is no name, and would not fit an index either. */
const LONGEST_ID = 256;
const LONGEST_LINE = 512;
const LONGEST_TEXT = 10_000;
/** A school year shares an index entry with a name. */
const LONGEST_LABEL = 64;

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
  const reader = new EntryReader(entry);
  const identity = reader.identity(mapping.id, mapping.name);
  if (identity === null) return reader.nothing();
  return reader.give({
    ...identity,
    givenName: reader.line(mapping.givenName),
    familyName: reader.line(mapping.familyName),
    email: reader.line(mapping.email),
    schoolYear: reader.label(mapping.schoolYear),
    photo: entry.bytes(mapping.photo)[0] ?? null,
    picture: entry.bytes(mapping.picture)[0] ?? null,
  });
}

/** Maps the entry of a group (pure). */
export function mapGroup(entry: Entry, mapping: DirectoryMapping['groups']): Mapped<MappedGroup> {
  const reader = new EntryReader(entry);
  const identity = reader.identity(mapping.id, mapping.name);
  if (identity === null) return reader.nothing();
  return reader.give({
    ...identity,
    description: reader.text(mapping.description),
    email: reader.line(mapping.email),
    website: reader.website(mapping.website),
    references: [
      ...reader.references(mapping.member, 1),
      ...reader.references(mapping.admin, 2),
      ...reader.references(mapping.owner, 3),
    ],
  });
}

interface Identity {
  readonly uuid: string;
  readonly dn: string;
  readonly id: string;
  readonly name: string;
  readonly createdAt: Date | null;
}

/** Takes attributes out of one entry and notes what is wrong with them. */
class EntryReader {
  private readonly quarantined: Quarantined[] = [];

  constructor(private readonly entry: Entry) {}

  give<Value>(value: Value): Mapped<Value> {
    return { value, quarantined: this.quarantined };
  }

  nothing<Value>(): Mapped<Value> {
    return { value: null, quarantined: this.quarantined };
  }

  /** What every entry needs; null, and a reason, when it is not there. */
  identity(idAttribute: string, nameAttributes: readonly string[]): Identity | null {
    const uuid = this.uuid();
    if (uuid === null) return null;
    const id = this.single(idAttribute, LONGEST_ID);
    if (id === null) return this.quarantine(null, `has no usable ${idAttribute}, which is its id`);
    const names = nameAttributes.map((attribute) => this.single(attribute, LONGEST_LINE));
    const name = names.find((each) => each !== null) ?? null;
    if (name === null)
      return this.quarantine(null, `has no usable ${nameAttributes.join(' or ')}, which is its name`);
    return { uuid, dn: this.entry.dn, id, name, createdAt: this.instant('createTimestamp') };
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
    if (url === null || (URL.canParse(url) && /^https?:$/.test(new URL(url).protocol))) return url;
    return this.quarantine(attribute, 'is not an http or https URL');
  }

  /**
   * The DNs that an attribute holds. One that is not UTF-8 is left out alone: leaving out the attribute would look
   * as if everybody had left the group.
   */
  references(attribute: string, rank: Rank): { dn: string; rank: Rank }[] {
    const references: { dn: string; rank: Rank }[] = [];
    let unreadable = 0;
    for (const value of this.entry.bytes(attribute)) {
      const dn = decodeUtf8(value);
      if (dn === null) unreadable++;
      else references.push({ dn, rank });
    }
    if (unreadable > 0) this.quarantine(attribute, `has ${unreadable} values that are not UTF-8`);
    return references;
  }

  private uuid(): string | null {
    const given = this.single('entryUUID', LONGEST_ID);
    if (given !== null) {
      return /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i.test(given)
        ? given.toLowerCase()
        : this.quarantine(null, 'has an entryUUID that is none');
    }
    try {
      return uuidOfDn(this.entry.dn);
    } catch (error) {
      if (!(error instanceof InvalidDnError)) throw error;
      return this.quarantine(null, 'has a malformed DN');
    }
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
    this.quarantined.push({ dn: this.entry.dn, attribute, reason });
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
