import { z } from 'zod';
import { parseUrl } from '../../common/url.js';
import { buildMapping, buildVisibility } from '../model/build-mapping.js';
import { withRules } from '../model/mapping.js';
import { baseDn, type Model } from '../model/model.schema.js';
import { DEFAULT_PRESET, type PresetName } from '../model/presets/presets.js';
import {
  certificates,
  integer,
  readable,
  resolveFile,
  SAMPLE_DIRECTORY,
  SAMPLE_MODEL,
  secret,
  setting,
  text,
  type ValuesOf,
  wholeNumber,
  yesOrNo,
} from '../setting.js';

/** The time within which the guard counts deletions. */
const GUARD_SECONDS = 600;

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

/** Settings of the directory: its servers, its model file, and its synchronization. */
export const DIRECTORY_SETTINGS = {
  DIRECTORY_URL: setting(
    text
      .refine((value) => /^file:.+/.test(value) || areLdapUrls(value), {
        error: 'must be ldap://host, ldaps://host, several of these, or file: and the path of an LDIF file',
      })
      .default(`file:${SAMPLE_DIRECTORY}`),
    'LDAP servers of one directory, separated by spaces or commas and tried in order, or file:PATH of an LDIF content file.',
  ),
  DIRECTORY_STARTTLS: setting(yesOrNo, 'Encrypts ldap:// connections with StartTLS.'),
  DIRECTORY_CA_FILE: setting(
    certificates.optional(),
    'PEM file with the certificate authorities of the LDAP server. Default: those of Node.js.',
  ),
  DIRECTORY_CERT_FILE: setting(
    readable.optional(),
    'PEM file with a client certificate and its chain, for a server that requires one. Read at each connection.',
  ),
  DIRECTORY_KEY_FILE: setting(
    readable.optional(),
    'PEM file with the key of DIRECTORY_CERT_FILE. Read at each connection.',
  ),
  DIRECTORY_SASL_EXTERNAL: setting(
    yesOrNo,
    'Binds as the account of the client certificate (SASL EXTERNAL), instead of DIRECTORY_BIND_DN.',
  ),
  DIRECTORY_BIND_DN: setting(text.optional(), 'DN that the service binds as. Empty: anonymous.'),
  DIRECTORY_BIND_PASSWORD: secret(
    z.string().optional(),
    'Password of DIRECTORY_BIND_DN. A file is read at each connection.',
  ),
  DIRECTORY_BASE_DN: setting(baseDn.default('dc=example,dc=org'), 'Base DN of the directory.'),
  DIRECTORY_WEBHOOKS: setting(
    text.optional(),
    'YAML file with the receivers to which changes are sent. Equal for all services that use one database. Empty: none.',
  ),
  DIRECTORY_MODEL: setting(
    text.optional(),
    'YAML file with the model of the directory: bases, filters, attributes, fields, scopes and visibility. Empty: that of the sample for the sample directory, otherwise the built-in model.',
  ),
  DIRECTORY_SYNC_SECONDS: setting(
    integer(1, 86_400, 30),
    'Seconds between two scans of a server that reports no changes, and between two signs that the mirror is current.',
  ),
  DIRECTORY_SCAN_SECONDS: setting(
    wholeNumber(1, 86_400).optional(),
    'Seconds between two scans, which compare all entries with the mirror. Default: 50 times the duration of the last scan, between 30 seconds and 10 minutes.',
  ),
  DIRECTORY_GUARD_PERCENT: setting(
    integer(0, 100, 5),
    'Maximum share of users, groups or memberships that are deleted, or lose an attribute, within ten minutes.',
  ),
  DIRECTORY_CHANGES_DAYS: setting(integer(1, 3650, 30), 'Days for which the change log is kept.'),
};

type DirectorySettings = ValuesOf<typeof DIRECTORY_SETTINGS>;

export type DirectoryConfig = Readonly<ReturnType<typeof buildDirectory>>;

export interface FileSourceConfig {
  readonly kind: 'file';
  /** Absolute path of the LDIF file. */
  readonly file: string;
}

/** Returns whether users and groups come from the sample. */
export function isSampleDirectory({ source }: Pick<DirectoryConfig, 'source'>): boolean {
  return source.kind === 'file' && source.file === resolveFile(SAMPLE_DIRECTORY);
}

/**
 * The path of the model file. Without a setting it is that of the sample for the sample directory.
 * @returns undefined: the built-in model applies
 */
export function modelFileOf(settings: DirectorySettings): string | undefined {
  return settings.DIRECTORY_MODEL ?? (namesSampleDirectory(settings) ? SAMPLE_MODEL : undefined);
}

/** Returns whether the settings name the sample, which is also the default. */
export function namesSampleDirectory(settings: DirectorySettings): boolean {
  return isSampleDirectory({ source: buildSource(settings) });
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
  /** The file that the password is from: it may be replaced while the service runs. */
  readonly passwordFile: string | null;
  /** Files of the client certificate. */
  readonly client: { readonly certificate: string; readonly key: string } | null;
  /** Whether to bind by the client certificate (SASL EXTERNAL, RFC 4513 §5.2.3). */
  readonly isExternal: boolean;
}

export interface LdapServerConfig {
  readonly url: string;
  readonly host: string;
  readonly port: number;
  readonly security: 'none' | 'starttls' | 'ldaps';
}

/** @param passwordFile the file that the password of the account is from */
export function buildDirectory(settings: DirectorySettings, model: Model, passwordFile: string | null) {
  const visibility = buildVisibility(model);
  const server: PresetName = model.server ?? DEFAULT_PRESET;
  return {
    source: buildSource(settings, passwordFile),
    baseDn: settings.DIRECTORY_BASE_DN,
    /** Seconds between two requests of servers that do not push changes, and between two signs that the mirror is current. */
    syncSeconds: settings.DIRECTORY_SYNC_SECONDS,
    /** Seconds between two scans. Null: it follows their cost. */
    scanSeconds: settings.DIRECTORY_SCAN_SECONDS ?? null,
    /** Null: the kind of server decides. */
    follow: model.follow ?? null,
    /** The kind of server whose preset applies. */
    server,
    /** Whether the model names the kind. If not, it is recognized. */
    isServerGiven: model.server !== undefined,
    mapping: withRules(buildMapping(model, settings.DIRECTORY_BASE_DN), visibility),
    visibility,
    guard: { percent: settings.DIRECTORY_GUARD_PERCENT, windowSeconds: GUARD_SECONDS },
    /** Retention of changes in days. */
    changesDays: settings.DIRECTORY_CHANGES_DAYS,
  };
}

/** Applies the preset of a server that was recognized. */
export function withServer(directory: DirectoryConfig, model: Model, server: PresetName): DirectoryConfig {
  const mapping = buildMapping({ ...model, server }, directory.baseDn);
  return { ...directory, server, mapping: withRules(mapping, directory.visibility) };
}

function buildSource(
  settings: DirectorySettings,
  passwordFile: string | null = null,
): FileSourceConfig | LdapSourceConfig {
  const { DIRECTORY_URL: url, DIRECTORY_CERT_FILE: certificate, DIRECTORY_KEY_FILE: key } = settings;
  if (url.startsWith('file:')) return { kind: 'file', file: resolveFile(url.slice('file:'.length)) };
  return {
    kind: 'ldap',
    url,
    servers: splitUrls(url).map((each) => buildServer(each, settings.DIRECTORY_STARTTLS)),
    certificates: settings.DIRECTORY_CA_FILE ?? null,
    bind:
      settings.DIRECTORY_BIND_DN === undefined
        ? null
        : { dn: settings.DIRECTORY_BIND_DN, password: settings.DIRECTORY_BIND_PASSWORD ?? '' },
    passwordFile,
    client: certificate === undefined || key === undefined ? null : { certificate, key },
    isExternal: settings.DIRECTORY_SASL_EXTERNAL,
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
