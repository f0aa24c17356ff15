import type { DataSource } from 'typeorm';
import { codeOf, type Finding, ok, problem, warning } from '../common/finding.js';
import type { Config } from '../config/config.js';
import type { DirectoryDataSource } from '../database/connections/data-source.js';
import { unencryptedPassword } from '../database/connections/pool-options.js';
import { Database } from '../database/database.js';
import { EmbeddedServer } from '../database/embedded/embedded-server.js';
import {
  AWAITS_RULES,
  awaitsRules,
  MirrorState,
  type MirrorStatus,
  SyncState,
} from '../mirror/status/mirror-state.js';
import { ServiceAccountEntity } from '../service-accounts/service-account.entity.js';
import { ServiceAccountsService } from '../service-accounts/service-accounts.service.js';
import { POSITION_LOST, WebhookEntity } from '../webhooks/webhook.entity.js';
import { withDatabase } from './context.js';
import { expiresSoon } from './service-account.command.js';

/** Milliseconds between two clocks that cause a warning, and those at which tokens may be rejected. */
const NOTICEABLE = 2000;
const HARMFUL = 30_000;

/** Checks the database, and changes nothing in it: the service creates and migrates the tables. */
export async function checkDatabase(config: Config): Promise<Finding[]> {
  const { embedded } = config.database;
  if (embedded !== null && !EmbeddedServer.isCreated(embedded))
    return [ok('database', `none yet: the first start creates it in ${embedded}`)];
  const risk = unencryptedPassword(config.database);
  const risks = risk === null ? [] : [warning('database password', risk)];
  try {
    const check = (dataSource: DirectoryDataSource) => checkOpenDatabase(config, dataSource);
    return [...(await withDatabase(config, check, { migrates: false })), ...risks];
  } catch (error) {
    const text = error instanceof Error ? error.message : String(error);
    return [problem('database', text, codeOf(error)), ...risks];
  }
}

async function checkOpenDatabase(config: Config, dataSource: DirectoryDataSource): Promise<Finding[]> {
  const { database, directory } = config;
  const schema = await readSchemaState(dataSource);
  const findings = [
    describeSchema(schema),
    ...(await checkReader(database.readUrl, dataSource)),
    await checkClock(dataSource),
  ];
  if (schema.pending > 0) return findings;
  const state = new MirrorState(new Database(dataSource), dataSource);
  findings.push(describeMirror(await state.get(), directory));
  return [...findings, await checkAccounts(dataSource), ...(await checkWebhooks(config, dataSource))];
}

/** How far the tables of a database are, compared with this release. */
interface SchemaState {
  /** The number of migrations that the next start applies. */
  readonly pending: number;
  /** Whether there is no table yet. */
  readonly isEmpty: boolean;
  /** Whether the role may create what the first start creates. */
  readonly mayCreate: boolean;
}

/** Reads the state of a database that was opened without migrating it. */
async function readSchemaState({ manager, migrations }: DirectoryDataSource): Promise<SchemaState> {
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
  return { pending: pending.length, isEmpty: names.size === 0, mayCreate: rights?.may === true };
}

/** The tables of an earlier release are not read: some may be missing. */
function describeSchema({ pending, isEmpty, mayCreate }: SchemaState): Finding {
  const what = 'database';
  if (pending === 0) return ok(what);
  if (!mayCreate)
    return problem(what, 'the role may not create its tables, or the extension pg_trgm', '42501');
  return isEmpty
    ? ok(what, 'empty: the first start creates the tables')
    : ok(what, `of an earlier release: the next start migrates it (${pending} steps)`);
}

async function checkReader(url: string | null, dataSource: DirectoryDataSource): Promise<Finding[]> {
  const { readPool } = dataSource;
  if (url === null || readPool === null) return [];
  const what = `reader endpoint ${new URL(url).host}`;
  const failure = await dataSource.checkReadPool(readPool);
  return [failure === null ? ok(what) : problem(what, failure)];
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

function describeMirror(status: MirrorStatus, directory: Config['directory']): Finding {
  const { state, asOf, reason, blockedPlan } = status;
  const isAwaiting = awaitsRules(status, directory);
  const stands = `${state}, as of ${asOf?.toISOString() ?? 'never'}${isAwaiting ? `. ${AWAITS_RULES}` : ''}`;
  if (state === SyncState.BLOCKED) {
    return problem(
      'mirror',
      `${stands}. ${reason ?? ''}. \`sync --dry-run\` shows the plan; if that is right: ./directory sync --confirm ${blockedPlan ?? ''}`,
    );
  }
  if (state === SyncState.FAILING) return problem('mirror', `${stands}. ${reason ?? ''}`);
  return isAwaiting ? warning('mirror', stands) : ok('mirror', stands);
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

/** Reports the receivers of changes that fail or are disabled. */
async function checkWebhooks({ webhooks }: Config, dataSource: DataSource): Promise<Finding[]> {
  const states = await dataSource.getRepository(WebhookEntity).find();
  return webhooks.map(({ id }) => {
    const what = `webhook ${id}`;
    const state = states.find((each) => each.id === id);
    const reason = state?.failure ?? '';
    if (state === undefined) return ok(what, 'nothing was sent yet');
    if (state.disabledAt !== null) {
      const more = reason === POSITION_LOST ? ' --from-now, and then let it read everything' : '';
      return problem(what, `disabled: ${reason}. To enable it: ./directory webhook enable ${id}${more}`);
    }
    if (state.attempts === 0) return ok(what);
    return warning(what, `it has failed for ${state.failedSeconds} seconds: ${reason}`);
  });
}
