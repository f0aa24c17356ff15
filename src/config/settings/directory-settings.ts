import { z } from 'zod';
import { parseUrl } from '../../common/url.js';
import { secret, setting, settingOrEmpty, type ValuesOf } from '../setting.js';
import { certificates, integer, list, text, yesOrNo } from '../value-kinds.js';

const attribute = text.regex(/^[A-Za-z][A-Za-z0-9-]*$/, { error: 'must be the name of an LDAP attribute' });

const attributes = list.refine(
  (names) => names.length > 0 && names.every((name) => attribute.safeParse(name).success),
  {
    error: 'must be one or more names of LDAP attributes, separated by commas',
  },
);

const objectClasses = list.refine(
  (names) => names.length > 0 && names.every((name) => attribute.safeParse(name).success),
  {
    error: 'must be one or more names of object classes, separated by commas',
  },
);

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
  DIRECTORY_ENTRY_UUID: setting(
    attribute.default('entryUUID'),
    'Attribute with the permanent id of an entry.',
  ),
  DIRECTORY_CREATED_AT: setting(
    attribute.default('createTimestamp'),
    'Attribute with the creation time of an entry.',
  ),
  DIRECTORY_MODIFIED_AT: setting(
    attribute.default('modifyTimestamp'),
    'Attribute with the modification time of an entry.',
  ),
  DIRECTORY_USER_ID: setting(attribute.default('uid'), 'Attribute with the id of a person.'),
  DIRECTORY_USER_NAME: setting(
    attributes.default(['displayName', 'cn']),
    'Attributes with the name of a person, comma-separated. The first that has a value is used.',
  ),
  DIRECTORY_USER_GIVEN_NAME: setting(
    attribute.default('givenName'),
    'Attribute with the given name of a person.',
  ),
  DIRECTORY_USER_FAMILY_NAME: setting(attribute.default('sn'), 'Attribute with the family name of a person.'),
  DIRECTORY_USER_EMAIL: setting(attribute.default('mail'), 'Attribute with the e-mail address of a person.'),
  DIRECTORY_USER_SCHOOL_YEAR: setting(
    attribute.default('schoolYear'),
    'Attribute with the school year of a person.',
  ),
  DIRECTORY_USER_PHOTO: setting(
    attribute.default('jpegPhoto'),
    'Attribute with the photo of a person, as bytes.',
  ),
  DIRECTORY_USER_PICTURE: setting(
    attribute.default('profilePicture'),
    'Attribute with the profile picture of a person, as bytes.',
  ),
  DIRECTORY_GROUP_ID: setting(attribute.default('cn'), 'Attribute with the id of a group.'),
  DIRECTORY_GROUP_NAME: setting(
    attributes.default(['displayName', 'cn']),
    'Attributes with the name of a group, comma-separated. The first that has a value is used.',
  ),
  DIRECTORY_GROUP_DESCRIPTION: setting(
    attribute.default('description'),
    'Attribute with the description of a group.',
  ),
  DIRECTORY_GROUP_EMAIL: setting(attribute.default('mail'), 'Attribute with the e-mail address of a group.'),
  DIRECTORY_GROUP_WEBSITE: setting(
    attribute.default('labeledURI'),
    'Attribute with the web site of a group.',
  ),
  DIRECTORY_GROUP_MEMBER: setting(
    attribute.default('member'),
    'Attribute with the DNs of the members of a group.',
  ),
  DIRECTORY_GROUP_ADMIN: setting(
    attribute.default('groupAdmin'),
    'Attribute with the DNs of the admins of a group.',
  ),
  DIRECTORY_GROUP_OWNER: setting(
    attribute.default('owner'),
    'Attribute with the DNs of the owners of a group.',
  ),
  DIRECTORY_GROUP_CLASSES: setting(
    objectClasses.default(['groupOfNames', 'directoryGroup']),
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
