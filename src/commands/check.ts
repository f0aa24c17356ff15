import { randomUUID } from 'node:crypto';
import { styleText } from 'node:util';
import { ZodError } from 'zod';
import { ExternalIssuer } from '../auth/tokens/issuer.js';
import { counted } from '../common/counted.js';
import { codeOf, type Finding, ok, problem, warning } from '../common/finding.js';
import { printable } from '../common/printable.js';
import { hostOf, isLoopback } from '../common/url.js';
import { type Config, ConfigError } from '../config/config.js';
import { PROGRAM } from '../config/paths.js';
import type { DirectoryDataSource } from '../database/connections/data-source.js';
import { Database } from '../database/database.js';
import { EXIT_FAILED, EXIT_WRONG_USE } from '../process.js';
import { Limits } from '../limits/limits.js';
import { checkDirectory, checkFile } from '../mirror/check/check-directory.js';
import {
  AWAITS_RULES,
  awaitsRules,
  MirrorState,
  type MirrorStatus,
  SyncState,
} from '../mirror/status/mirror-state.js';
import { ServiceAccountEntity } from '../service-accounts/service-account.entity.js';
import { ServiceAccountsService } from '../service-accounts/service-accounts.service.js';
import { POSITION_LOST } from '../webhooks/webhook.entity.js';
import { checkToken } from './check-token.js';
import {
  entriesRead,
  isMissing,
  print,
  readRecognizedConfig,
  withDatabase,
  withProgress,
} from './context.js';
import { expiresSoon, NOTICE_DAYS } from './service-accounts.js';
import { readWebhooks } from './webhooks.js';

/** Checks the settings, and a token or everything that they name. */
export async function check({ token }: { token?: string }): Promise<void> {
  const findings = (await examine(token)).map(withFix);
  const countOf = (wanted: Finding['result']) => findings.filter(({ result }) => result === wanted).length;
  const sum = { ok: countOf('ok'), warning: countOf('warning'), problem: countOf('problem') };
  print({ sum, findings }, toText(findings, sum));
  if (sum.problem > 0) process.exitCode ??= EXIT_FAILED;
}

async function examine(token?: string): Promise<Finding[]> {
  try {
    const config = await readRecognizedConfig();
    return [ok('settings'), ...(await (token === undefined ? checkAll(config) : checkToken(config, token)))];
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    process.exitCode = EXIT_WRONG_USE;
    return error.problems.map((each) => problem('settings', each));
  }
}

/** A URL with an `@`. A password may contain any character, so everything up to the last `@` counts. */
const USER_INFORMATION = /\b((?:https?|ldaps?|postgres(?:ql)?|rediss?):\/*|[a-z][a-z0-9+.-]*:\/\/)\S*@/gi;

/** A finding with its remedy, and without user information (RFC 3986 §3.2.1): messages of libraries can contain URLs. */
export function withFix(finding: Finding) {
  const { what, result } = finding;
  const text = finding.text?.replace(USER_INFORMATION, '$1(hidden)@') ?? null;
  return { what, result, text, fix: result === 'ok' ? null : fixFor(finding) };
}

const SIGNS = {
  problem: ['red', 'PROBLEM '],
  warning: ['yellow', 'WARNING '],
  ok: ['green', 'ok      '],
} as const;

const MAY_READ =
  'Let the account read them. For slapd: access to * by dn.exact="DIRECTORY_BIND_DN" read by * break (docs/ldap.md)';
const IF_THEY_EXIST = MAY_READ.replace('Let', 'If they exist, let');
const WITH_TLS = 'Set DIRECTORY_STARTTLS=true, or a DIRECTORY_URL that begins with ldaps://';

/** What to do about a finding. The first whose pattern fits what was checked, and the code of the system, of TLS, LDAP or SQL, counts. */
const FIXES: Readonly<Record<string, string>> = {
  '^directory server: StartTlsRefused':
    'Give the server a certificate, or, if it has one for ldaps, set a DIRECTORY_URL that begins with ldaps:// without DIRECTORY_STARTTLS',
  '^directory server: LdapClosed':
    'The port may be for ldaps (636): set a DIRECTORY_URL that begins with ldaps://, or the port of ldap (389)',
  '^directory server: .*(ECONNRESET|ERR_SSL|LdapProtocol)':
    'The port may be for LDAP without TLS, or of another protocol: correct DIRECTORY_URL and DIRECTORY_STARTTLS',
  'UNABLE_TO_|SELF_SIGNED_|DEPTH_ZERO_':
    'Set AUTHORITIES to the certificate (PEM) of the authority that signed that of the server',
  'ENOTFOUND|EAI_AGAIN': 'Correct the host name in ADDRESS, or the name servers of this machine',
  ECONNREFUSED: 'Start the SERVER, or correct the port in ADDRESS: nothing accepts connections there',
  'UNREACH|ETIMEDOUT|LdapTimeout':
    'Check the address in ADDRESS, the network, and the firewalls on the way to the server',
  CERT_: 'Renew the certificate of the server, or set ADDRESS to a name that it has',
  '(size|time|admin)LimitExceeded':
    'Set the limit of the account as the message says, and run check again: docs/ldap.md',
  insufficientAccessRights: MAY_READ,
  invalidCredentials: 'Correct DIRECTORY_BIND_DN or DIRECTORY_BIND_PASSWORD',
  'strongerAuth|confidentiality|^directory password': WITH_TLS,
  NONE: `Choose them by bases and filter of the model file (docs/model.md). ${IF_THEY_EXIST}`,
  'inappropriate|unwilling': 'Set DIRECTORY_BIND_DN and DIRECTORY_BIND_PASSWORD',
  '^directory bases': `Set DIRECTORY_BASE_DN, and the bases of the model file, to existing entries. ${IF_THEY_EXIST}`,
  '^database':
    'Set DATABASE_URL to a running server, a separate database, and a role that owns it: docs/install.md',
  '^reader endpoint': 'Let DATABASE_READ_URL lead to a standby of the server of DATABASE_URL, or remove it',
  '^service accounts': `Extend it: ${PROGRAM} service-account update ID --expires 90d`,
  '^token|^identity|^encryption|^introspection': 'Correct the settings AUTH_*: docs/identity-providers.md',
  '^webhook': 'Correct the receiver: docs/clients.md describes what it answers, and how it continues',
  '^settings|^Redis':
    'Correct the variable, its line in .env, or the file that it names: docs/settings.md, docs/model.md',
  '': 'docs/ldap.md describes the rights and limits of the account, and docs/model.md the model file',
};

/** The settings of the address of a server, and of the authorities of its certificate. */
const SERVERS: Readonly<Record<string, readonly [address: string, authorities: string]>> = {
  'identity provider': ['AUTH_URL', 'AUTH_CA_FILE'],
  introspection: ['AUTH_INTROSPECTION_URL', 'AUTH_CA_FILE'],
  database: ['DATABASE_URL', 'sslrootcert in DATABASE_URL'],
};

/** What an operator does about a finding. */
export function fixFor({ what, cause = '' }: Finding): string {
  const [, fix = ''] =
    Object.entries(FIXES).find(([pattern]) => new RegExp(pattern).test(`${what}: ${cause}`)) ?? [];
  const [address, authorities] = SERVERS[what] ?? ['DIRECTORY_URL', 'DIRECTORY_CA_FILE'];
  return fix.replace('ADDRESS', address).replace('AUTHORITIES', authorities).replace('SERVER', what);
}

/** Problems are first. */
function toText(findings: readonly ReturnType<typeof withFix>[], sum: Record<Finding['result'], number>) {
  const parts = [`${sum.ok} ok`, counted(sum.warning, 'warning'), counted(sum.problem, 'problem')];
  const style = sum.problem > 0 ? 'red' : sum.warning > 0 ? 'yellow' : 'green';
  const sorted = (['problem', 'warning', 'ok'] as const).flatMap((wanted) =>
    findings.filter(({ result }) => result === wanted),
  );
  const lines = sorted.flatMap(({ what, result, text, fix }, index) => {
    const [color, sign] = SIGNS[result];
    // Problems of settings can end with lines to copy. Without its indent, a line of the directory could begin a false finding.
    const shown = text === null ? '' : `: ${text.split('\n').map(printable).join('\n           ')}`;
    const line = `${styleText(color, sign)} ${what}${shown}`;
    // The remedy of several findings is printed after the last of them.
    return fix === null || sorted[index + 1]?.fix === fix ? [line] : [line, `         → ${fix}`];
  });
  return [styleText(style, `${findings.length} checked: ${parts.join(', ')}`), ...lines].join('\n');
}

/** A failed check does not prevent the other checks. */
function checkAll(config: Config): Promise<Finding[]> {
  return withProgress(async (show) => {
    show('Checking the directory');
    const source = await checkSource(config, (entries) => {
      show(`Checking the directory: ${entriesRead(entries)}`);
    });
    show('Checking the database');
    const database = await checkDatabase(config);
    show('Checking Redis and the identity provider');
    return [...source, ...database, ...(await checkRedis(config)), ...(await checkIssuer(config))];
  });
}

function checkSource({ directory }: Config, progress: (entries: number) => void): Promise<Finding[]> {
  const { source } = directory;
  return source.kind === 'file'
    ? checkFile(directory, source, progress)
    : checkDirectory(directory, source, new AbortController().signal, progress);
}

/** Checks the database, and changes nothing in it: the service creates and migrates the tables. */
export async function checkDatabase(config: Config): Promise<Finding[]> {
  const { embedded } = config.database;
  if (isMissing(config)) return [ok('database', `none yet: the first start creates it in ${embedded ?? ''}`)];
  try {
    const work = (dataSource: DirectoryDataSource) => checkOpenDatabase(config, dataSource);
    return await withDatabase(config, work, { migrates: false });
  } catch (error) {
    const text = error instanceof Error ? error.message : String(error);
    return [problem('database', text, codeOf(error))];
  }
}

async function checkOpenDatabase(config: Config, dataSource: DirectoryDataSource): Promise<Finding[]> {
  const tables = await checkTables(dataSource);
  const reader = await checkReader(config, dataSource);
  // The tables of an earlier release are not read: some may be missing.
  if (tables !== null) return [tables, ...reader];
  const status = await new MirrorState(new Database(dataSource), dataSource).get();
  return [
    ok('database'),
    ...reader,
    describeMirror(status, config.directory),
    await checkAccounts(dataSource),
    ...(await checkWebhooks(config, dataSource)),
  ];
}

/** Null: the tables are those of this release. */
async function checkTables({ manager, migrations }: DirectoryDataSource): Promise<Finding | null> {
  const [rights] = await manager.query<{ has: boolean; may: boolean | null }[]>(`
    select to_regclass('migrations') is not null as has,
      has_schema_privilege(current_schema(), 'create') and (
        exists (select from pg_extension where extname = 'pg_trgm')
        or has_database_privilege(current_database(), 'create')
      ) as may`);
  const applied =
    rights?.has === true ? await manager.query<{ name: string }[]>('select name from migrations') : [];
  const names = new Set(applied.map(({ name }) => name));
  const pending = migrations.filter(({ name, constructor }) => !names.has(name ?? constructor.name));
  if (pending.length === 0) return null;
  if (rights?.may !== true)
    return problem('database', 'the role may not create its tables, or the extension pg_trgm', '42501');
  return names.size === 0
    ? ok('database', 'empty: the first start creates the tables')
    : ok('database', `of an earlier release: the next start migrates it (${pending.length} steps)`);
}

async function checkReader({ database }: Config, dataSource: DirectoryDataSource): Promise<Finding[]> {
  const { readPool } = dataSource;
  if (database.readUrl === null || readPool === null) return [];
  const what = `reader endpoint ${new URL(database.readUrl).host}`;
  const failure = await dataSource.checkReadPool(readPool);
  return [failure === null ? ok(what) : problem(what, failure)];
}

function describeMirror(status: MirrorStatus, directory: Config['directory']): Finding {
  const { state, asOf, reason, blockedPlan } = status;
  const text = [`${state}, as of ${asOf?.toISOString() ?? 'never'}`, reason ?? []].flat().join('. ');
  if (state === SyncState.BLOCKED) {
    const confirmed = `if that is right: ${PROGRAM} sync --confirm ${blockedPlan ?? ''}`;
    return problem('mirror', `${text}. \`sync --dry-run\` shows the plan; ${confirmed}`);
  }
  if (state === SyncState.FAILING) return problem('mirror', text);
  return awaitsRules(status, directory) ? warning('mirror', `${text}. ${AWAITS_RULES}`) : ok('mirror', text);
}

async function checkAccounts(dataSource: DirectoryDataSource): Promise<Finding> {
  const accounts = await new ServiceAccountsService(dataSource.getRepository(ServiceAccountEntity)).list();
  const ending = accounts.filter(expiresSoon).map(({ id }) => id);
  if (ending.length === 0) return ok('service accounts', String(accounts.length));
  const text = `within ${NOTICE_DAYS} days, or already, these end: ${ending.join(', ')}`;
  return warning('service accounts', text);
}

/** Reports the receivers of changes that fail. */
async function checkWebhooks(config: Config, dataSource: DirectoryDataSource): Promise<Finding[]> {
  return (await readWebhooks(config, dataSource)).map(({ id, state, failure, failedSeconds }) => {
    const what = `webhook ${id}`;
    if (state !== 'failing') return ok(what, state);
    if (failure !== POSITION_LOST)
      return warning(what, `it has failed for ${failedSeconds} seconds: ${failure ?? ''}`);
    const cure = `${PROGRAM} webhook enable ${id} --from-now, and then let it read everything`;
    return problem(what, `${failure}: ${cure}`);
  });
}

async function checkRedis(config: Config): Promise<Finding[]> {
  const { redis } = config;
  if (redis === null) return [];
  const limits = new Limits(config);
  const failure = await limits.connect();
  limits.onApplicationShutdown();
  if (failure === null) return [ok('Redis', `keys begin with ${redis.prefix}:`)];
  return [warning('Redis', `${failure}; until Redis answers, each machine counts the limits alone`)];
}

async function checkIssuer({ auth }: Config): Promise<Finding[]> {
  const { issuer: url, introspection } = auth;
  if (url === null) return [];
  const issuer = new ExternalIssuer(url, auth);
  const keys = await checkBy('identity provider', url, () => issuer.fetchKeys());
  const findings = [
    ...checkEncryption('AUTH_URL', url),
    ...checkEncryption('AUTH_INTROSPECTION_URL', introspection?.url ?? null),
    keys,
  ];
  if (introspection === null || keys.result !== 'ok') return findings;
  // The service never issued this token. An issuer that accepts the client reports the token as not active.
  const asked = await checkBy('introspection', introspection.url ?? url, () =>
    issuer.introspect(randomUUID()),
  );
  return [...findings, asked];
}

/** An attacker who replaces keys in transit can sign accepted tokens, and sees tokens and the client secret. */
function checkEncryption(name: string, address: string | null): Finding[] {
  const url = address === null ? null : new URL(address);
  if (url?.protocol !== 'http:' || isLoopback(hostOf(url))) return [];
  const reason = `${name} is plain http: keys and tokens cross the network to ${url.host} unencrypted`;
  return [warning('encryption of the identity provider', reason)];
}

async function checkBy(what: string, address: string, ask: () => Promise<unknown>): Promise<Finding> {
  try {
    await ask();
    return ok(what, address);
  } catch (error) {
    return problem(what, `${address}: ${reasonOf(error)}`, codeOf(error));
  }
}

/** Returns the message of the innermost cause. The outer errors name only the peer. */
function reasonOf(error: unknown): string {
  if (error instanceof ZodError) return 'its answer is not what an OpenID provider says';
  if (!(error instanceof Error)) return String(error);
  if (error.cause instanceof Error) return reasonOf(error.cause);
  // The message is empty when a host name has several addresses and none of them responds.
  return error.message === '' ? (codeOf(error) ?? error.name) : error.message;
}
