import { resolve } from 'node:path';
import { NO_RULES, type VisibilityConfig } from './visibility.js';
import { ATTRIBUTE_SETTINGS, type DirectorySettings, splitUrls } from './directory-settings.js';

export interface DirectoryConfig {
  readonly source: FileSourceConfig | LdapSourceConfig;
  readonly baseDn: string;
  readonly syncSeconds: number;
  /** Maximum seconds to wait for a server that is behind the mirror. */
  readonly behindSeconds: number;
  /** Seconds between two comparisons of a server with the mirror. */
  readonly reconcileSeconds: { readonly identities: number; readonly contents: number };
  readonly mapping: DirectoryMapping;
  readonly visibility: VisibilityConfig;
  readonly guard: { readonly percent: number; readonly windowSeconds: number };
  /** Retention of changes in days. */
  readonly changesDays: number;
}

export interface FileSourceConfig {
  readonly kind: 'file';
  /** Absolute path of the LDIF file. */
  readonly file: string;
}

/** Returns whether users and groups come from the sample. */
export function isSampleDirectory({ source }: Pick<DirectoryConfig, 'source'>): boolean {
  return source.kind === 'file' && source.file === resolve('sample/directory.ldif');
}

export interface LdapSourceConfig {
  readonly kind: 'ldap';
  /** URL in its configured form. */
  readonly url: string;
  /** Servers with the same content. The first one is preferred. */
  readonly servers: readonly LdapServerConfig[];
  /** Certificates of the trusted authorities, as PEM. Null: the authorities that Node.js trusts. */
  readonly certificates: string | null;
  /** Null: an anonymous connection. */
  readonly bind: { readonly dn: string; readonly password: string } | null;
}

export interface LdapServerConfig {
  readonly url: string;
  readonly host: string;
  readonly port: number;
  readonly security: 'none' | 'starttls' | 'ldaps';
}

/** Locations of users and groups, and names of their attributes. */
export interface DirectoryMapping {
  readonly people: EntryMapping;
  readonly groups: EntryMapping & {
    readonly member: string;
    readonly admin: string;
    readonly owner: string;
    /** Object classes of a new group. */
    readonly classes: readonly string[];
  };
}

/** Members that the mappings of users and groups share. */
export interface EntryMapping {
  readonly base: string;
  readonly filter: string;
  /** Attribute with the identity that survives renames (RFC 4530). */
  readonly uuid: string;
  readonly createdAt: string;
  readonly modifiedAt: string;
  readonly id: string;
  /** The first attribute that has a value is used. */
  readonly name: readonly string[];
  /** Attributes by the name of the setting that names them, for the tables of fields. */
  readonly attributes: Readonly<Record<string, readonly string[]>>;
}

export function buildDirectory(settings: DirectorySettings): DirectoryConfig {
  return {
    source: buildSource(settings),
    baseDn: settings.DIRECTORY_BASE_DN,
    syncSeconds: settings.DIRECTORY_SYNC_SECONDS,
    behindSeconds: settings.DIRECTORY_BEHIND_SECONDS,
    reconcileSeconds: {
      identities: settings.DIRECTORY_RECONCILE_SECONDS,
      contents: settings.DIRECTORY_RECONCILE_CONTENTS_SECONDS,
    },
    mapping: buildMapping(settings),
    visibility: NO_RULES,
    guard: { percent: settings.DIRECTORY_GUARD_PERCENT, windowSeconds: settings.DIRECTORY_GUARD_SECONDS },
    changesDays: settings.DIRECTORY_CHANGES_DAYS,
  };
}

function buildMapping(settings: DirectorySettings): DirectoryMapping {
  const below = (base: string) =>
    base === '' ? settings.DIRECTORY_BASE_DN : `${base},${settings.DIRECTORY_BASE_DN}`;
  const names = Object.keys(ATTRIBUTE_SETTINGS) as (keyof typeof ATTRIBUTE_SETTINGS)[];
  const everyEntry = {
    uuid: settings.DIRECTORY_ENTRY_UUID,
    createdAt: settings.DIRECTORY_CREATED_AT,
    modifiedAt: settings.DIRECTORY_MODIFIED_AT,
    attributes: Object.fromEntries(names.map((name) => [name, [settings[name]].flat()])),
  };
  return {
    people: {
      ...everyEntry,
      base: below(settings.DIRECTORY_PEOPLE_BASE),
      filter: settings.DIRECTORY_PEOPLE_FILTER,
      id: settings.DIRECTORY_USER_ID,
      name: settings.DIRECTORY_USER_NAME,
    },
    groups: {
      ...everyEntry,
      base: below(settings.DIRECTORY_GROUPS_BASE),
      filter: settings.DIRECTORY_GROUPS_FILTER,
      id: settings.DIRECTORY_GROUP_ID,
      name: settings.DIRECTORY_GROUP_NAME,
      member: settings.DIRECTORY_GROUP_MEMBER,
      admin: settings.DIRECTORY_GROUP_ADMIN,
      owner: settings.DIRECTORY_GROUP_OWNER,
      classes: settings.DIRECTORY_GROUP_CLASSES,
    },
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
