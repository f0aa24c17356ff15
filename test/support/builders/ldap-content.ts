import { createHash } from 'node:crypto';
import type { TestGroup } from './directory.js';
import { heldRoles } from './role-model.js';

/** An entry as ldapsearch prints it: values by attribute in lower case. */
export interface DumpedEntry {
  readonly dn: string;
  readonly values: ReadonlyMap<string, readonly Buffer[]>;
}

/** The expected mirror of a directory: users and groups by entryUUID, roles by the ids of both. */
export interface MirrorContents {
  readonly people: Record<string, Record<string, string | null>>;
  readonly groups: Record<string, Record<string, string | null>>;
  readonly roles: Record<string, Record<string, unknown>>;
  /** The entryUUIDs of users and groups in quarantine, sorted. */
  readonly quarantine: readonly string[];
}

/** Parses the output of `ldapsearch -LLL -o ldif-wrap=no`, without code of the product. */
export function parseDump(text: string): DumpedEntry[] {
  return text
    .split('\n\n')
    .map((block) => block.split('\n').filter((line) => line !== '' && !line.startsWith('#')))
    .filter((lines) => lines[0]?.startsWith('dn:') === true)
    .map((lines) => {
      const values = new Map<string, Buffer[]>();
      for (const line of lines) {
        const [, name = '', isEncoded = '', value = ''] = /^([^:]+):(:?) ?(.*)$/.exec(line) ?? [];
        const bytes = isEncoded === '' ? Buffer.from(value) : Buffer.from(value, 'base64');
        values.set(name.toLowerCase(), [...(values.get(name.toLowerCase()) ?? []), bytes]);
      }
      return { dn: textOf(values, 'dn') ?? '', values };
    });
}

function textOf(values: DumpedEntry['values'], name: string): string | null {
  return values.get(name)?.[0]?.toString() ?? null;
}

/** Returns the expected mirror of these entries, by the rules of docs/model.md. */
export function expectMirror(entries: readonly DumpedEntry[]): MirrorContents {
  const allPeople = ofKind(entries, 'inetorgperson', 'ou=people,');
  const allGroups = ofKind(entries, 'groupofnames', 'ou=groups,');
  const people = usable(allPeople, 'uid');
  const groups = usable(allGroups, 'cn');
  const isUsable = new Set([...people, ...groups]);
  const names = new Map<string, string>();
  for (const group of groups) names.set(group.dn.toLowerCase(), `@${textOf(group.values, 'cn') ?? ''}`);
  for (const person of people) names.set(person.dn.toLowerCase(), textOf(person.values, 'uid') ?? '');
  return {
    people: Object.fromEntries(people.map((entry) => [uuidOf(entry), personOf(entry)])),
    groups: Object.fromEntries(groups.map((entry) => [uuidOf(entry), groupOf(entry)])),
    roles: plain(heldRoles(groups.map((entry) => modelOf(entry, names)))),
    quarantine: [...allPeople, ...allGroups]
      .filter((entry) => !isUsable.has(entry))
      .map(uuidOf)
      .sort(),
  };
}

function uuidOf({ values }: DumpedEntry): string {
  return textOf(values, 'entryuuid') ?? '';
}

function ofKind(entries: readonly DumpedEntry[], objectClass: string, base: string) {
  return entries.filter(
    ({ dn, values }) =>
      dn.toLowerCase().includes(base) &&
      values.get('objectclass')?.some((value) => value.toString().toLowerCase() === objectClass),
  );
}

/** Entries without those whose id is missing or used twice. */
function usable(entries: readonly DumpedEntry[], id: string) {
  const idOf = ({ values }: DumpedEntry) => textOf(values, id)?.toLowerCase();
  return entries.filter(
    (entry) =>
      idOf(entry) !== undefined && entries.filter((other) => idOf(other) === idOf(entry)).length === 1,
  );
}

function personOf({ dn, values }: DumpedEntry): Record<string, string | null> {
  const photo = values.get('jpegphoto')?.[0];
  return {
    dn,
    id: textOf(values, 'uid'),
    name: (textOf(values, 'displayname') ?? textOf(values, 'cn'))?.trim() ?? null,
    email: textOf(values, 'mail'),
    photo: photo === undefined ? null : createHash('sha256').update(photo).digest('hex'),
  };
}

function groupOf({ dn, values }: DumpedEntry): Record<string, string | null> {
  return {
    dn,
    id: textOf(values, 'cn'),
    name: (textOf(values, 'displayname') ?? textOf(values, 'cn'))?.trim() ?? null,
    email: textOf(values, 'mail'),
    description: textOf(values, 'description'),
  };
}

function modelOf({ values }: DumpedEntry, names: ReadonlyMap<string, string>): TestGroup {
  const named = (attribute: string) =>
    (values.get(attribute) ?? []).flatMap((value) => names.get(value.toString().toLowerCase()) ?? []);
  return {
    id: textOf(values, 'cn') ?? '',
    members: named('member'),
    admins: named('groupadmin'),
    owners: named('owner'),
  };
}

function plain(roles: ReturnType<typeof heldRoles>): MirrorContents['roles'] {
  return Object.fromEntries([...roles].map(([group, held]) => [group, Object.fromEntries(held)]));
}
