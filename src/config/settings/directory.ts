import { buildMapping } from '../model/build-mapping.js';
import type { Model } from '../model/model.schema.js';
import { DEFAULT_PRESET, type PresetName } from '../model/presets/presets.js';
import { resolveFile, SAMPLE_DIRECTORY, SAMPLE_MODEL } from '../paths.js';
import type { Settings } from '../settings.js';

export type DirectoryConfig = Readonly<ReturnType<typeof buildDirectory>>;

type SourceConfig = ReturnType<typeof buildSource>;
export type FileSourceConfig = Extract<SourceConfig, { kind: 'file' }>;
export type LdapSourceConfig = Extract<SourceConfig, { kind: 'ldap' }>;
export type LdapServerConfig = ReturnType<typeof buildServer>;

export function isSampleDirectory({ source }: Pick<DirectoryConfig, 'source'>): boolean {
  return source.kind === 'file' && source.file === resolveFile(SAMPLE_DIRECTORY);
}

/** The path of the model file, by default that of the sample for the sample directory. Undefined: the built-in model applies. */
export function modelFileOf(settings: Settings): string | undefined {
  return settings.DIRECTORY_MODEL ?? (namesSampleDirectory(settings) ? SAMPLE_MODEL : undefined);
}

export function namesSampleDirectory(settings: Settings): boolean {
  return isSampleDirectory({ source: buildSource(settings) });
}

/** @param passwordFile the file that the password of the account is from */
export function buildDirectory(settings: Settings, model: Model, passwordFile: string | null) {
  const server: PresetName = model.server ?? DEFAULT_PRESET;
  return {
    source: buildSource(settings, passwordFile),
    baseDn: settings.DIRECTORY_BASE_DN,
    /** Seconds between two looks at a server that reports no changes, and between two signs that the mirror is current. */
    syncSeconds: settings.DIRECTORY_SYNC_SECONDS,
    /** Seconds between two scans. Null: it follows their cost. */
    scanSeconds: settings.DIRECTORY_SCAN_SECONDS ?? null,
    /** Null: the kind of server decides. */
    follow: model.follow ?? null,
    server,
    /** If not, the kind is recognized. */
    isServerGiven: model.server !== undefined,
    mapping: buildMapping(model, settings.DIRECTORY_BASE_DN),
    /** `bypass`: the scope of tokens that see everything. Null: there is none. */
    visibility: { bypass: model.visibility?.bypass ?? null },
    guard: { percent: settings.DIRECTORY_GUARD_PERCENT },
    changesDays: settings.DIRECTORY_CHANGES_DAYS,
  };
}

/** Applies the preset of a server that was recognized. */
export function withServer(directory: DirectoryConfig, model: Model, server: PresetName): DirectoryConfig {
  return { ...directory, server, mapping: buildMapping({ ...model, server }, directory.baseDn) };
}

function buildSource(settings: Settings, passwordFile: string | null = null) {
  const { DIRECTORY_URL: url, DIRECTORY_CERT_FILE: certificate, DIRECTORY_KEY_FILE: key } = settings;
  const { DIRECTORY_BIND_DN: dn, DIRECTORY_BIND_PASSWORD: password = '' } = settings;
  if (url.startsWith('file:')) return { kind: 'file', file: resolveFile(url.slice('file:'.length)) } as const;
  return {
    kind: 'ldap' as const,
    url,
    /** Servers with the same content. The first one is preferred. */
    servers: url.split(/[\s,]+/).map((each) => buildServer(each, settings.DIRECTORY_STARTTLS)),
    certificates: settings.DIRECTORY_CA_FILE ?? null,
    bind: dn === undefined ? null : { dn, password },
    /** The file that the password is from: it may be replaced while the service runs. */
    passwordFile,
    client: certificate === undefined || key === undefined ? null : { certificate, key },
    isExternal: settings.DIRECTORY_SASL_EXTERNAL,
  };
}

function buildServer(url: string, wantsStartTls: boolean) {
  const { protocol, hostname, port } = new URL(url);
  const isTls = protocol === 'ldaps:';
  const security: 'none' | 'starttls' | 'ldaps' = isTls ? 'ldaps' : wantsStartTls ? 'starttls' : 'none';
  const host = hostname.replace(/^\[(.*)\]$/, '$1');
  return { url, host, port: port === '' ? (isTls ? 636 : 389) : Number(port), security };
}
