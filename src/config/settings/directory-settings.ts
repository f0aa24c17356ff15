import { z } from 'zod';
import { parseUrl } from '../../common/url.js';
import { secret, setting, settingOrEmpty, type ValuesOf } from '../setting.js';
import { certificates, integer, list, text, yesOrNo } from '../value-kinds.js';

const attribute = text.regex(/^[A-Za-z][A-Za-z0-9-]*$/, { error: 'must be the name of an LDAP attribute' });

const names = (what: string) =>
  list.refine((items) => items.length > 0 && items.every((item) => attribute.safeParse(item).success), {
    error: `must be one or more names of ${what}, separated by commas`,
  });

/** A setting that names the attribute with this content. */
const attributeWith = (content: string, name: string) =>
  setting(attribute.default(name), `Attribute with ${content}.`);

const distinguishedName = text;

function isLdapUrl(value: string): boolean {
  if (!/^ldaps?:\/\/[^/?#@]+\/?$/i.test(value)) return false;
  const url = parseUrl(value);
  return url !== null && url.hostname !== '';
}

/** Splits the URLs of LDAP servers, which are separated by spaces or commas. */
export function splitUrls(value: string): string[] {
  return value.split(/[\s,]+/).filter((url) => url !== '');
}

function areLdapUrls(value: string): boolean {
  const urls = splitUrls(value);
  return urls.length > 0 && urls.every(isLdapUrl);
}

/** Settings that name attributes. The tables of fields refer to them (src/users/user.fields.ts). */
export const ATTRIBUTE_SETTINGS = {
  DIRECTORY_ENTRY_UUID: attributeWith('the permanent id of an entry', 'entryUUID'),
  DIRECTORY_CREATED_AT: attributeWith('the creation time of an entry', 'createTimestamp'),
  DIRECTORY_MODIFIED_AT: attributeWith('the modification time of an entry', 'modifyTimestamp'),
  DIRECTORY_USER_ID: attributeWith('the id of a person', 'uid'),
  DIRECTORY_USER_NAME: setting(
    names('LDAP attributes').default(['displayName', 'cn']),
    'Attributes with the name of a person, comma-separated. The first that has a value is used.',
  ),
  DIRECTORY_USER_GIVEN_NAME: attributeWith('the given name of a person', 'givenName'),
  DIRECTORY_USER_FAMILY_NAME: attributeWith('the family name of a person', 'sn'),
  DIRECTORY_USER_EMAIL: attributeWith('the e-mail address of a person', 'mail'),
  DIRECTORY_USER_SCHOOL_YEAR: attributeWith('the school year of a person', 'schoolYear'),
  DIRECTORY_USER_PHOTO: attributeWith('the photo of a person, as bytes', 'jpegPhoto'),
  DIRECTORY_USER_PICTURE: attributeWith('the profile picture of a person, as bytes', 'profilePicture'),
  DIRECTORY_GROUP_ID: attributeWith('the id of a group', 'cn'),
  DIRECTORY_GROUP_NAME: setting(
    names('LDAP attributes').default(['displayName', 'cn']),
    'Attributes with the name of a group, comma-separated. The first that has a value is used.',
  ),
  DIRECTORY_GROUP_DESCRIPTION: attributeWith('the description of a group', 'description'),
  DIRECTORY_GROUP_EMAIL: attributeWith('the e-mail address of a group', 'mail'),
  DIRECTORY_GROUP_WEBSITE: attributeWith('the web site of a group', 'labeledURI'),
  DIRECTORY_GROUP_MEMBER: attributeWith('the DNs of the members of a group', 'member'),
  DIRECTORY_GROUP_ADMIN: attributeWith('the DNs of the admins of a group', 'groupAdmin'),
  DIRECTORY_GROUP_OWNER: attributeWith('the DNs of the owners of a group', 'owner'),
};

/** Settings of the directory: its servers, the names of its attributes, and its synchronization. */
export const DIRECTORY_SETTINGS = {
  DIRECTORY_URL: setting(
    text
      .refine((value) => /^file:.+/.test(value) || areLdapUrls(value), {
        error: 'must be ldap://host, ldaps://host, several of these, or file: and the path of an LDIF file',
      })
      .default('file:sample/directory.ldif'),
    'LDAP servers of one directory, space-separated and tried in order, or file:PATH of an LDIF content file.',
  ),
  DIRECTORY_STARTTLS: setting(yesOrNo, 'Encrypts ldap:// connections with StartTLS.'),
  DIRECTORY_CA_FILE: setting(
    certificates.optional(),
    'PEM file with the certificate authorities of the LDAP server. Default: those of Node.js.',
  ),
  DIRECTORY_BIND_DN: setting(distinguishedName.optional(), 'DN that the service binds as. Empty: anonymous.'),
  DIRECTORY_BIND_PASSWORD: secret(z.string().optional(), 'Password of DIRECTORY_BIND_DN.'),
  DIRECTORY_BASE_DN: setting(distinguishedName.default('dc=example,dc=org'), 'Base DN of the directory.'),
  DIRECTORY_SYNC_SECONDS: setting(
    integer(1, 86_400, 30),
    'Seconds between two polls of a server that does not push changes.',
  ),
  DIRECTORY_BEHIND_SECONDS: setting(
    integer(0, 86_400, 300),
    'Seconds to wait for a server that lags behind the mirror before the state becomes BLOCKED.',
  ),
  DIRECTORY_RECONCILE_SECONDS: setting(
    integer(1, 86_400, 600),
    'Seconds between two comparisons of all identities (entryUUID, DN, entryCSN) with the server.',
  ),
  DIRECTORY_RECONCILE_CONTENTS_SECONDS: setting(
    integer(1, 604_800, 3600),
    'Seconds between two comparisons of all attributes with the server.',
  ),
  DIRECTORY_PEOPLE_BASE: settingOrEmpty(
    distinguishedName.default('ou=people'),
    'Base DN of the people, relative to DIRECTORY_BASE_DN. Empty: DIRECTORY_BASE_DN.',
  ),
  DIRECTORY_PEOPLE_FILTER: setting(
    text.default('(objectClass=inetOrgPerson)'),
    'LDAP filter for people (RFC 4515).',
  ),
  DIRECTORY_GROUPS_BASE: settingOrEmpty(
    distinguishedName.default('ou=groups'),
    'Base DN of the groups, relative to DIRECTORY_BASE_DN. Empty: DIRECTORY_BASE_DN.',
  ),
  DIRECTORY_GROUPS_FILTER: setting(
    text.default('(objectClass=groupOfNames)'),
    'LDAP filter for groups (RFC 4515).',
  ),
  ...ATTRIBUTE_SETTINGS,
  DIRECTORY_GROUP_CLASSES: setting(
    names('object classes').default(['groupOfNames', 'directoryGroup']),
    'Object classes of a new group in the LDIF of a preview, comma-separated.',
  ),
  DIRECTORY_GUARD_PERCENT: setting(
    integer(0, 100, 5),
    'Maximum share of people, groups or memberships that are deleted, or lose an attribute, within DIRECTORY_GUARD_SECONDS.',
  ),
  DIRECTORY_GUARD_SECONDS: setting(integer(1, 86_400, 600), 'Time window of the deletion guard, in seconds.'),
  DIRECTORY_CHANGES_DAYS: setting(integer(1, 3650, 30), 'Days for which the change log is kept.'),
};

export type DirectorySettings = ValuesOf<typeof DIRECTORY_SETTINGS>;
