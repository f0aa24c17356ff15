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

/** The URLs of LDAP servers, which spaces or commas separate. */
export function splitUrls(value: string): string[] {
  return value.split(/[\s,]+/).filter((url) => url !== '');
}

function areLdapUrls(value: string): boolean {
  const urls = splitUrls(value);
  return urls.length > 0 && urls.every(isLdapUrl);
}

/** The directory: where it is, what it calls things, and how it is followed. */
export const DIRECTORY_SETTINGS = {
  DIRECTORY_URL: setting(
    text
      .refine((value) => /^file:.+/.test(value) || areLdapUrls(value), {
        error: 'must be ldap://host, ldaps://host, several of these, or file: and the path of an LDIF file',
      })
      .default('file:sample/directory.ldif'),
    'LDAP servers of one directory, separated by spaces and tried in order, or an LDIF content file',
  ),
  DIRECTORY_STARTTLS: setting(yesOrNo, 'Encrypts the connection to an ldap:// server by StartTLS'),
  DIRECTORY_CA_FILE: setting(
    certificates.optional(),
    'File with the certificates (PEM) that the LDAP server may be signed by. Default: those Node.js trusts',
  ),
  DIRECTORY_BIND_DN: setting(
    distinguishedName.optional(),
    'Who the service is in the directory. Empty: it reads anonymously',
  ),
  DIRECTORY_BIND_PASSWORD: secret(z.string().optional(), 'Password of DIRECTORY_BIND_DN'),
  DIRECTORY_BASE_DN: setting(
    distinguishedName.default('dc=example,dc=org'),
    'Suffix below which people and groups are',
  ),
  DIRECTORY_SYNC_SECONDS: setting(
    integer(1, 86_400, 30),
    'How often, in seconds, a directory that tells nothing by itself is asked whether anything has changed',
  ),
  DIRECTORY_BEHIND_SECONDS: setting(
    integer(0, 86_400, 300),
    'How long, in seconds, a server that is behind the mirror is waited for, before an operator decides',
  ),
  DIRECTORY_RECONCILE_SECONDS: setting(
    integer(1, 86_400, 600),
    'How often, in seconds, the identities of all entries of a server are compared with the mirror',
  ),
  DIRECTORY_RECONCILE_CONTENTS_SECONDS: setting(
    integer(1, 604_800, 3600),
    'How often, in seconds, the contents of all entries of a server are compared with the mirror',
  ),
  DIRECTORY_PEOPLE_BASE: settingOrEmpty(
    distinguishedName.default('ou=people'),
    'Where people are, relative to DIRECTORY_BASE_DN. Empty: DIRECTORY_BASE_DN itself',
  ),
  DIRECTORY_PEOPLE_FILTER: setting(
    text.default('(objectClass=inetOrgPerson)'),
    'Which entries there are people (RFC 4515)',
  ),
  DIRECTORY_GROUPS_BASE: settingOrEmpty(
    distinguishedName.default('ou=groups'),
    'Where groups are, relative to DIRECTORY_BASE_DN. Empty: DIRECTORY_BASE_DN itself',
  ),
  DIRECTORY_GROUPS_FILTER: setting(
    text.default('(objectClass=groupOfNames)'),
    'Which entries there are groups (RFC 4515)',
  ),
  DIRECTORY_ENTRY_UUID: setting(
    attribute.default('entryUUID'),
    'Attribute with the identity of an entry, which survives renames',
  ),
  DIRECTORY_CREATED_AT: setting(
    attribute.default('createTimestamp'),
    'Attribute with the time at which an entry was made',
  ),
  DIRECTORY_MODIFIED_AT: setting(
    attribute.default('modifyTimestamp'),
    'Attribute with the time at which an entry was last changed',
  ),
  DIRECTORY_USER_ID: setting(attribute.default('uid'), "Attribute with a person's id"),
  DIRECTORY_USER_NAME: setting(
    attributes.default(['displayName', 'cn']),
    "Attributes with a person's name; the first that is there counts",
  ),
  DIRECTORY_USER_GIVEN_NAME: setting(attribute.default('givenName'), 'Attribute with the given name'),
  DIRECTORY_USER_FAMILY_NAME: setting(attribute.default('sn'), 'Attribute with the family name'),
  DIRECTORY_USER_EMAIL: setting(attribute.default('mail'), 'Attribute with the e-mail address of a person'),
  DIRECTORY_USER_SCHOOL_YEAR: setting(attribute.default('schoolYear'), 'Attribute with the school year'),
  DIRECTORY_USER_PHOTO: setting(attribute.default('jpegPhoto'), 'Attribute with the photo, as bytes'),
  DIRECTORY_USER_PICTURE: setting(
    attribute.default('profilePicture'),
    'Attribute with the picture people chose for themselves, as bytes',
  ),
  DIRECTORY_GROUP_ID: setting(attribute.default('cn'), "Attribute with a group's id"),
  DIRECTORY_GROUP_NAME: setting(
    attributes.default(['displayName', 'cn']),
    "Attributes with a group's name; the first that is there counts",
  ),
  DIRECTORY_GROUP_DESCRIPTION: setting(
    attribute.default('description'),
    'Attribute with the description of a group',
  ),
  DIRECTORY_GROUP_EMAIL: setting(attribute.default('mail'), 'Attribute with the e-mail address of a group'),
  DIRECTORY_GROUP_WEBSITE: setting(attribute.default('labeledURI'), 'Attribute with the web site of a group'),
  DIRECTORY_GROUP_MEMBER: setting(attribute.default('member'), 'Attribute that names the members of a group'),
  DIRECTORY_GROUP_ADMIN: setting(
    attribute.default('groupAdmin'),
    'Attribute that names the admins of a group',
  ),
  DIRECTORY_GROUP_OWNER: setting(attribute.default('owner'), 'Attribute that names the owners of a group'),
  DIRECTORY_GROUP_CLASSES: setting(
    objectClasses.default(['groupOfNames', 'directoryGroup']),
    'Object classes of a group that is made anew',
  ),
  DIRECTORY_GUARD_PERCENT: setting(
    integer(0, 100, 5),
    'Share of people, groups or memberships that may be deleted, or lose an attribute, within the window',
  ),
  DIRECTORY_GUARD_SECONDS: setting(
    integer(1, 86_400, 600),
    'Window, in seconds, over which deletions are added up',
  ),
  DIRECTORY_CHANGES_DAYS: setting(integer(1, 3650, 30), 'Days for which what has changed is kept'),
};

export type DirectorySettings = ValuesOf<typeof DIRECTORY_SETTINGS>;
