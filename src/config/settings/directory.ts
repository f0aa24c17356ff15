import { resolve } from 'node:path';
import { type DirectorySettings, splitUrls } from './directory-settings.js';

export interface DirectoryConfig {
  readonly source: FileSourceConfig | LdapSourceConfig;
  readonly baseDn: string;
  readonly syncSeconds: number;
  /** Seconds for which a server that is behind what is mirrored is waited for. */
  readonly behindSeconds: number;
  /** Seconds between two comparisons of a server with the mirror. */
  readonly reconcileSeconds: { readonly identities: number; readonly contents: number };
  readonly mapping: DirectoryMapping;
  readonly guard: { readonly percent: number; readonly windowSeconds: number };
  /** Days for which changes are kept. */
  readonly changesDays: number;
}

export interface FileSourceConfig {
  readonly kind: 'file';
  /** Absolute path of the LDIF file. */
  readonly file: string;
}

/** Whether people and groups are those of the sample. */
export function isSampleDirectory({ source }: Pick<DirectoryConfig, 'source'>): boolean {
  return source.kind === 'file' && source.file === resolve('sample/directory.ldif');
}

export interface LdapSourceConfig {
  readonly kind: 'ldap';
  /** As it was given. */
  readonly url: string;
  /** All of them hold the same directory. The first is preferred. */
  readonly servers: readonly LdapServerConfig[];
  /** Certificates of the authorities to trust, as PEM; null: those that Node.js trusts. */
  readonly certificates: string | null;
  /** Null: nobody, an anonymous connection. */
  readonly bind: { readonly dn: string; readonly password: string } | null;
}

export interface LdapServerConfig {
  readonly url: string;
  readonly host: string;
  readonly port: number;
  readonly security: 'none' | 'starttls' | 'ldaps';
}

/** Where people and groups are and what their attributes are called: vendor differences are data, not code. */
export interface DirectoryMapping {
  readonly people: EntryMapping & {
    readonly givenName: string;
    readonly familyName: string;
    readonly email: string;
    readonly schoolYear: string;
    readonly photo: string;
    readonly picture: string;
  };
  readonly groups: EntryMapping & {
    readonly description: string;
    readonly email: string;
    readonly website: string;
    readonly member: string;
    readonly admin: string;
    readonly owner: string;
    /** Object classes of a group that is made anew. */
    readonly classes: readonly string[];
  };
}

/** What the mapping of every entry has. */
export interface EntryMapping {
  readonly base: string;
  readonly filter: string;
  /** Attribute with the identity that survives renames (RFC 4530). */
  readonly uuid: string;
  readonly createdAt: string;
  readonly modifiedAt: string;
  readonly id: string;
  /** The first that is there counts. */
  readonly name: readonly string[];
}

export function buildDirectory(settings: DirectorySettings): DirectoryConfig {
  const below = (base: string) =>
    base === '' ? settings.DIRECTORY_BASE_DN : `${base},${settings.DIRECTORY_BASE_DN}`;
  const everyEntry = {
    uuid: settings.DIRECTORY_ENTRY_UUID,
    createdAt: settings.DIRECTORY_CREATED_AT,
    modifiedAt: settings.DIRECTORY_MODIFIED_AT,
  };
  return {
    source: buildSource(settings),
    baseDn: settings.DIRECTORY_BASE_DN,
    syncSeconds: settings.DIRECTORY_SYNC_SECONDS,
    behindSeconds: settings.DIRECTORY_BEHIND_SECONDS,
    reconcileSeconds: {
      identities: settings.DIRECTORY_RECONCILE_SECONDS,
      contents: settings.DIRECTORY_RECONCILE_CONTENTS_SECONDS,
    },
    mapping: {
      people: {
        ...everyEntry,
        base: below(settings.DIRECTORY_PEOPLE_BASE),
        filter: settings.DIRECTORY_PEOPLE_FILTER,
        id: settings.DIRECTORY_USER_ID,
        name: settings.DIRECTORY_USER_NAME,
        givenName: settings.DIRECTORY_USER_GIVEN_NAME,
        familyName: settings.DIRECTORY_USER_FAMILY_NAME,
        email: settings.DIRECTORY_USER_EMAIL,
        schoolYear: settings.DIRECTORY_USER_SCHOOL_YEAR,
        photo: settings.DIRECTORY_USER_PHOTO,
        picture: settings.DIRECTORY_USER_PICTURE,
      },
      groups: {
        ...everyEntry,
        base: below(settings.DIRECTORY_GROUPS_BASE),
        filter: settings.DIRECTORY_GROUPS_FILTER,
        id: settings.DIRECTORY_GROUP_ID,
        name: settings.DIRECTORY_GROUP_NAME,
        description: settings.DIRECTORY_GROUP_DESCRIPTION,
        email: settings.DIRECTORY_GROUP_EMAIL,
        website: settings.DIRECTORY_GROUP_WEBSITE,
        member: settings.DIRECTORY_GROUP_MEMBER,
        admin: settings.DIRECTORY_GROUP_ADMIN,
        owner: settings.DIRECTORY_GROUP_OWNER,
        classes: settings.DIRECTORY_GROUP_CLASSES,
      },
    },
    guard: { percent: settings.DIRECTORY_GUARD_PERCENT, windowSeconds: settings.DIRECTORY_GUARD_SECONDS },
    changesDays: settings.DIRECTORY_CHANGES_DAYS,
  };
}

function buildSource(settings: DirectorySettings): DirectoryConfig['source'] {
  const { DIRECTORY_URL: url } = settings;
  if (url.startsWith('file:')) return { kind: 'file', file: resolve(url.slice('file:'.length)) };
  return {
    kind: 'ldap',
    url,
    servers: splitUrls(url).map((each) => buildServer(each, settings.DIRECTORY_STARTTLS)),
    certificates: settings.DIRECTORY_CA_FILE ?? null,
    bind:
      settings.DIRECTORY_BIND_DN === undefined
        ? null
        : { dn: settings.DIRECTORY_BIND_DN, password: settings.DIRECTORY_BIND_PASSWORD ?? '' },
  };
}

function buildServer(url: string, wantsStartTls: boolean): LdapServerConfig {
  const { protocol, hostname, port } = new URL(url);
  const isTls = protocol === 'ldaps:';
  return {
    url,
    host: hostname.replace(/^\[(.*)\]$/, '$1'),
    port: port === '' ? (isTls ? 636 : 389) : Number(port),
    security: isTls ? 'ldaps' : wantsStartTls ? 'starttls' : 'none',
  };
}
