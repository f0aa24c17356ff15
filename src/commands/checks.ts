import { randomUUID } from 'node:crypto';
import { access } from 'node:fs/promises';
import { ZodError } from 'zod';
import { ExternalIssuer } from '../auth/tokens/external-issuer.js';
import { type Finding, ok, problem, warning } from '../common/finding.js';
import { hostOf, isLoopback } from '../common/url.js';
import type { Config } from '../config/config.js';
import type { DirectoryConfig } from '../config/settings/directory.js';
import type { RedisConfig } from '../config/settings/redis.js';
import { readClients } from '../identity-provider/clients.js';
import { QuarantineStatistics } from '../mirror/map/quarantine-statistics.js';
import { checkDirectory } from '../sources/check/check-directory.js';
import { checkFile } from '../sources/check/check-file.js';
import { configProblems } from '../start/preconditions.js';
import type { Show } from './progress.js';
import type { DataSource } from 'typeorm';
import type { DirectoryDataSource } from '../database/connections/data-source.js';
import { Database } from '../database/database.js';
import { checkReplica } from '../database/connections/replica.js';
import { Leadership } from '../mirror/sync/leadership.js';
import { MirrorState, type MirrorStatus, SyncState } from '../mirror/status/mirror-state.js';
import {
  readReconciliations,
  type Reconciliation,
  RECONCILIATION_KINDS,
  type ReconciliationKind,
} from '../mirror/reconcile/reconciliations.js';
import { ServiceAccountEntity } from '../service-accounts/service-account.entity.js';
import { ServiceAccountsService } from '../service-accounts/service-accounts.service.js';
import { withDatabase } from './context.js';
import { expiresSoon } from './service-account-list.js';

/** Checks everything that the settings name. A failed check does not prevent the other checks. */
export async function runChecks(config: Config, show: Show): Promise<Finding[]> {
  const { auth, redis } = config;
  const findings = await checkDirectorySource(config.directory, show);
  show('Checking the database');
  findings.push(...(await checkDatabase(config)));
  if (redis !== null) {
    show('Looking at Redis');
    findings.push(await checkRedis(redis));
  }
  if (auth.issuer === null) findings.push(...checkClients(config));
  else {
    show('Checking the identity provider');
    findings.push(...(await checkIssuer(config, auth.issuer)));
  }
  return [...findings, describeSigningKeys(config)];
}

async function checkDirectorySource(config: DirectoryConfig, show: Show): Promise<Finding[]> {
  const { source } = config;
  const progress = (entries: number) => {
    show(`Checking the directory: ${entries.toLocaleString('en')} entries read`);
  };
  show('Checking the directory');
  const more = [new QuarantineStatistics(config.mapping)];
  if (source.kind === 'ldap')
    return checkDirectory(config, source, new AbortController().signal, { progress, more });
  const isThere = await access(source.file).then(
    () => true,
    () => false,
  );
  return isThere
    ? checkFile(config, source, progress, more)
    : [problem('directory file', `it cannot be read: ${source.file}`)];
}

async function checkRedis(config: RedisConfig): Promise<Finding> {
  const { SharedCounts } = await import('../limits/shared-counts.js');
  const failure = await new SharedCounts(config).examine();
  if (failure === null) return ok('Redis', `keys begin with ${config.prefix}:`);
  return warning('Redis', `${failure}; until it is there, each process keeps the limits on its own`);
}

function checkClients({ auth, scopes }: Config): Finding[] {
  const what = 'clients of the embedded identity provider';
  const problems = configProblems(() => readClients(auth.embeddedClients, scopes));
  return problems.length === 0 ? [ok(what)] : problems.map((each) => problem(what, each));
}

async function checkIssuer({ auth }: Config, url: string): Promise<Finding[]> {
  const issuer = new ExternalIssuer(url, auth.introspection);
  const keys = await checkBy('identity provider', url, () => issuer.fetchKeys());
  const findings = [...describeEncryption(auth, url), keys];
  if (auth.introspection === null || keys.result !== 'ok') return findings;
  // The service never issued this token. An issuer that accepts the client reports the token as not active.
  return [...findings, await checkBy('introspection', null, () => issuer.introspect(randomUUID()))];
}

/** An attacker who replaces keys in transit can sign accepted tokens, and sees tokens and the client secret. */
function describeEncryption({ introspection }: Config['auth'], issuer: string): Finding[] {
  const named: [name: string, url: string | null][] = [
    ['AUTH_URL', issuer],
    ['AUTH_INTROSPECTION_URL', introspection?.url ?? null],
  ];
  return named.flatMap(([name, value]) => {
    const url = value === null ? null : new URL(value);
    if (url?.protocol !== 'http:' || isLoopback(hostOf(url))) return [];
    const reason = `${name} is plain http: keys and tokens cross the network to ${url.host} unencrypted`;
    return [warning('encryption of the identity provider', reason)];
  });
}

async function checkBy(what: string, text: string | null, ask: () => Promise<unknown>): Promise<Finding> {
  try {
    await ask();
    return ok(what, text);
  } catch (error) {
    return problem(what, [text, reasonOf(error)].filter((part) => part !== null).join(': '));
  }
}

/** Returns the message of the innermost cause. The outer errors name only the peer. */
function reasonOf(error: unknown): string {
  if (error instanceof ZodError) return 'its answer is not what an OpenID provider says';
  if (!(error instanceof Error)) return String(error);
  if (error.cause instanceof Error) return reasonOf(error.cause);
  // The message is empty when a host name has several addresses and none of them responds.
  return error.message === '' ? ((error as NodeJS.ErrnoException).code ?? error.name) : error.message;
}

function describeSigningKeys({ urlSigningKeys, production }: Config): Finding {
  const what = 'signing keys';
  if (urlSigningKeys !== null) {
    const count = urlSigningKeys.length;
    return ok(what, count === 1 ? 'one' : `${count}, of which the first signs`);
  }
  const text = 'none is set: one was generated, and is kept in the database';
  return production ? warning(what, text) : ok(what, text);
}

/** Milliseconds between two clocks that cause a warning, and those at which tokens may be rejected. */
const NOTICEABLE = 2000;
const HARMFUL = 30_000;

export async function checkDatabase(config: Config): Promise<Finding[]> {
  try {
    return await withDatabase(config, async (dataSource) => [
      ok('database'),
      ...(await checkReplicas(config.database, dataSource)),
      ...(config.database.kind === 'pglite' ? [] : [await checkClock(dataSource)]),
      describeMirror(
        await new MirrorState(new Database(dataSource), dataSource, Leadership.ofCommand()).get(),
      ),
      ...(config.directory.source.kind === 'file'
        ? []
        : [describeReconciliations(config.directory, await readReconciliations(dataSource.manager))]),
      await checkAccounts(dataSource),
    ]);
  } catch (error) {
    return [problem('database', error instanceof Error ? error.message : String(error))];
  }
}

async function checkReplicas(
  database: Config['database'],
  dataSource: DirectoryDataSource,
): Promise<Finding[]> {
  const urls = database.kind === 'postgres' ? database.replicaUrls : [];
  return Promise.all(
    urls.map(async (url) => {
      const what = `read replica ${new URL(url).host}`;
      const failure = await checkReplica(url, dataSource.pool);
      return failure === null ? ok(what) : problem(what, failure);
    }),
  );
}

/** Expiries of accounts and tokens are read on one clock and compared on the other. */
async function checkClock(dataSource: DataSource): Promise<Finding> {
  const before = Date.now();
  const [row] = await dataSource.query<{ now: Date }[]>('select clock_timestamp() as now');
  const after = Date.now();
  const there = row?.now.getTime() ?? before;
  // The database read its clock at some time between the two local readings.
  const difference = there < before ? before - there : Math.max(0, there - after);
  if (difference < NOTICEABLE) return ok('clock', "the database's is the same");
  const text = `it differs by ${Math.round(difference / 1000)} s from that of the database`;
  return difference < HARMFUL ? warning('clock', text) : problem('clock', text);
}

function describeMirror({ state, asOf, reason, blockedPlan }: MirrorStatus): Finding {
  const stands = `${state}, as of ${asOf?.toISOString() ?? 'never'}`;
  if (state === SyncState.BLOCKED) {
    return problem(
      'mirror',
      `${stands}. ${reason ?? ''}. \`sync --dry-run\` shows the plan; if that is right: npm run directory -- sync --confirm ${blockedPlan ?? ''}`,
    );
  }
  return state === SyncState.FAILING ? problem('mirror', `${stands}. ${reason ?? ''}`) : ok('mirror', stands);
}

/** A comparison that is late by less than this factor may be in progress. */
const LATE = 3;

function describeReconciliations(
  { reconcileSeconds }: Config['directory'],
  last: readonly Reconciliation[],
): Finding {
  const what = 'reconciliation';
  if (last.length === 0) return ok(what, 'the mirror has not been compared with all entries yet');
  const text = RECONCILIATION_KINDS.map((wanted) =>
    describeReconciliation(
      wanted,
      last.find(({ kind }) => kind === wanted),
    ),
  ).join('; ');
  const isLate = last.some(
    ({ kind, finishedAt }) => Date.now() - finishedAt.getTime() > reconcileSeconds[kind] * LATE * 1000,
  );
  return isLate ? warning(what, `${text}: that is long ago`) : ok(what, text);
}

/** The comparison of contents is due again after the server was restored or replaced. */
function describeReconciliation(kind: ReconciliationKind, last: Reconciliation | undefined): string {
  if (last === undefined) return `${kind} not compared yet, or not since the server changed`;
  const { finishedAt, entries, healed, seconds } = last;
  return (
    `${kind} of ${entries} entries compared at ${finishedAt.toISOString()} in ${seconds.toFixed(1)} s, ` +
    `${healed} corrected`
  );
}

async function checkAccounts(dataSource: DataSource): Promise<Finding> {
  const accounts = await new ServiceAccountsService(dataSource.getRepository(ServiceAccountEntity)).list();
  const now = new Date();
  const ending = accounts.filter((account) => expiresSoon(account, now)).map(({ id }) => id);
  const what = 'service accounts';
  if (ending.length === 0) return ok(what, String(accounts.length));
  return warning(
    what,
    `within 14 days, or already, ${ending.length === 1 ? 'this one ends' : 'these end'}: ${ending.join(', ')}`,
  );
}
