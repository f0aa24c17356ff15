/** Builds LDIF content files of users and groups for tests. */

export interface TestPerson {
  id: string;
  name?: string;
  givenName?: string;
  /** Null: there is none, which only a file can have. Default: the id. */
  familyName?: string | null;
  email?: string;
  schoolYear?: string;
  photo?: Buffer;
  picture?: Buffer;
  uuid?: string;
  phone?: string;
  /** The id of another user. */
  manager?: string;
}

export interface TestGroup {
  id: string;
  name?: string;
  description?: string;
  website?: string;
  email?: string;
  /** Ids of users; ids of groups begin with «@». */
  members?: string[];
  admins?: string[];
  owners?: string[];
  uuid?: string;
}

/** The smallest valid picture. */
export const PICTURE = Buffer.from('R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7', 'base64');

export const BASE_DN = 'dc=example,dc=org';

export function personDn(id: string): string {
  return `uid=${id},ou=people,${BASE_DN}`;
}

export function groupDn(id: string): string {
  return `cn=${id},ou=groups,${BASE_DN}`;
}

/** Builds a directory as LDIF, with entries that a real LDAP server accepts. */
export function buildLdif(people: readonly TestPerson[], groups: readonly TestGroup[] = []): string {
  return ['version: 1\n', ...people.map(personRecord), ...groups.map(groupRecord)].join('\n');
}

function personRecord(person: TestPerson): string {
  return record(personDn(person.id), [
    ['objectClass', 'inetOrgPerson'],
    ['objectClass', 'directoryPerson'],
    ['uid', person.id],
    ['cn', person.name ?? person.id],
    ['sn', person.familyName === null ? undefined : (person.familyName ?? person.id)],
    ['givenName', person.givenName],
    ['mail', person.email],
    ['schoolYear', person.schoolYear],
    ['entryUUID', person.uuid],
    ['telephoneNumber', person.phone],
    ['manager', person.manager === undefined ? undefined : personDn(person.manager)],
    ['jpegPhoto', person.photo],
    ['profilePicture', person.picture],
  ]);
}

function groupRecord(group: TestGroup): string {
  return record(groupDn(group.id), [
    ['objectClass', 'groupOfNames'],
    ['objectClass', 'directoryGroup'],
    ['cn', group.id],
    ['displayName', group.name],
    ['description', group.description],
    ['labeledURI', group.website],
    ['mail', group.email],
    ['entryUUID', group.uuid],
    ...membersOf(group).map((dn) => ['member', dn] as [string, string]),
    ...dns(group.admins).map((dn) => ['groupAdmin', dn] as [string, string]),
    ...dns(group.owners).map((dn) => ['owner', dn] as [string, string]),
  ]);
}

/** A groupOfNames requires a member: a group without members contains itself. */
function membersOf({ id, members = [] }: TestGroup): string[] {
  return members.length === 0 ? [groupDn(id)] : dns(members);
}

function dns(ids: string[] = []): string[] {
  return ids.map((id) => (id.startsWith('@') ? groupDn(id.slice(1)) : personDn(id)));
}

/** All values are encoded in base64, so that tests can use any character. */
function record(dn: string, attributes: [string, string | Buffer | undefined][]): string {
  const lines = attributes.flatMap(([name, value]) =>
    value === undefined ? [] : [`${name}:: ${Buffer.from(value).toString('base64')}`],
  );
  return `dn:: ${Buffer.from(dn).toString('base64')}\n${lines.join('\n')}\n`;
}
