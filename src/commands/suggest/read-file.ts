import { createReadStream } from 'node:fs';
import { escapeDnValue, parseDn } from '../../ldap/naming/dn.js';
import { keyOfDn } from '../../ldap/naming/identifiers.js';
import type { Entry } from '../../ldap/entry.js';
import { readLdif } from '../../ldap/ldif/ldif.js';
import type { EntryKind } from '../../sources/directory.js';
import { namedTypes } from './attribute-types.js';
import { kindOf } from './entry-classes.js';
import { type Evidence, MOST_ENTRIES, type Sample } from './evidence.js';
import { isDnBelow } from './guess-type.js';

/**
 * Reads a part of the entries of an LDIF file, and the kinds and places of all.
 * @throws {LdifError} when the file is malformed; an error of the file system
 */
export async function readFileEvidence(file: string, baseDn: string): Promise<Evidence> {
  const names = new Set<string>();
  const targets = new Map<string, EntryKind>();
  const places = { person: new Map<string, Entry[]>(), group: new Map<string, Entry[]>() };
  for await (const entry of readLdif(withNames(createReadStream(file) as AsyncIterable<Buffer>, names))) {
    const kind = kindOf(entry);
    if (kind === null || !isDnBelow(entry.dn, baseDn)) continue;
    targets.set(keyOfDn(entry.dn), kind);
    const place = containerOf(entry.dn, baseDn);
    const known = places[kind].get(place) ?? [];
    if (known.length < MOST_ENTRIES) known.push(entry);
    places[kind].set(place, known);
  }
  // A container that is a user or a group is personal data, and no base.
  const isEntry = (place: string) => targets.has(keyOfDn(`${place},${baseDn}`));
  const users = sampleOf(places.person, isEntry);
  const groups = sampleOf(places.group, isEntry);
  return { server: 'file', baseDn, users, groups, types: namedTypes(names), targets };
}

/** A part of the entries from each place. Entries directly below the base DN make it the base. */
function sampleOf(
  places: ReadonlyMap<string, readonly Entry[]>,
  isEntry: (place: string) => boolean,
): Sample {
  const share = Math.ceil(MOST_ENTRIES / Math.max(1, places.size));
  const entries = [...places.values()].flatMap((known) => known.slice(0, share));
  const isWhole = places.size === 0 || [...places.keys()].some((each) => each === '' || isEntry(each));
  const bases = isWhole ? [''] : [...places.keys()].sort();
  return { bases, entries: entries.slice(0, MOST_ENTRIES) };
}

/** The entry directly below the base DN that contains an entry, relative to the base DN. Empty: the base DN itself. */
function containerOf(dn: string, baseDn: string): string {
  const rdns = parseDn(dn);
  const depth = rdns.length - parseDn(baseDn).length;
  return depth < 2 ? '' : rdnText(rdns[depth - 1] ?? []);
}

/** The first relative DN of an entry as text. */
export function firstRdn(dn: string): string {
  return rdnText(parseDn(dn)[0] ?? []);
}

function rdnText(rdn: ReturnType<typeof parseDn>[number]): string {
  return rdn
    .map(({ type, value }) => {
      const text = typeof value === 'string' ? escapeDnValue(value) : `#${value.toString('hex')}`;
      return `${type}=${text}`;
    })
    .join('+');
}

/** Keeps how the lines spell the names of attributes, which entries have in lower case. */
async function* withNames(chunks: AsyncIterable<Buffer>, names: Set<string>): AsyncGenerator<Buffer> {
  for await (const chunk of chunks) {
    for (const [, name] of chunk
      .toString('latin1')
      .matchAll(/\n([A-Za-z][A-Za-z0-9-]{0,100})(?:;[A-Za-z0-9;-]{0,100})?:/g))
      names.add(name ?? '');
    yield chunk;
  }
}
