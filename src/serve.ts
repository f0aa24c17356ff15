import cluster from 'node:cluster';
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { Logger } from '@nestjs/common';
import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import { DataSource } from 'typeorm';
import { createApp } from './app.module.js';
import { Incident } from './common/incident.js';
import { ServiceUnavailableError } from './common/errors.js';
import { readBuild } from './config/build.js';
import { type Config, configFor, configOfWorker } from './config/config.js';
import type { PresetName } from './config/model/presets/presets.js';
import type { DirectoryDataSource } from './database/connections/data-source.js';
import { Database } from './database/database.js';
import { DatabaseAwayError, databaseError } from './database/statements/database-error.js';
import { Indicators } from './health/indicators.js';
import { PROBE_ROUTES } from './health/health.controller.js';
import type { HttpAdapter } from './http/http-adapter.js';
import { MirrorFollowing } from './mirror/following.js';
import { MirrorState } from './mirror/status/mirror-state.js';
import { isTextLog, NestLog } from './monitoring/log.js';
import { describeStart, notify } from './process.js';
import { firstQuery } from './explorer/start-page.js';
import { DemoServiceAccount } from './service-accounts/demo-service-account.js';
import { recognize } from './sources/ldap/ldap-servers.js';
import { kindOfMirror } from './sources/directory.js';

/** Milliseconds within which a database usually is open. Until then the port stays closed: no balancer sends requests to reject. */
const SOON_MS = 3000;
const PAUSE_MS = 500;

const logger = new Logger('Service');

/** Serves until the process receives a signal to end. It then ends with exit code 0, even during the start. */
export async function serve(config: Config): Promise<void> {
  beginLog(config);
  const ending = watchSignals();
  let given = configOfWorker(config);
  let kind = await recognize(given.directory, ending);
  while (!ending.aborted) {
    if (kind !== null) given = configFor(given, kind);
    kind = await serveKind(given, kind !== null, ending);
  }
  process.exit(0);
}

/**
 * Serves with the preset of one kind of server. Returns the kind if the server, or the mirror, turns out to be of another one.
 * @param isKnown whether the server has shown its kind. Otherwise the mirror says of which it is
 */
async function serveKind(config: Config, isKnown: boolean, ending: AbortSignal): Promise<PresetName | null> {
  const app = await createApp(config);
  const dataSource = app.get<DirectoryDataSource>(DataSource);
  const ended = once(ending, 'abort').then(() => null);
  try {
    return ending.aborted ? null : await Promise.race([begin(app, config, isKnown, ending), ended]);
  } finally {
    const signal = ending.aborted ? String(ending.reason) : undefined;
    app.get(Indicators).isReplaced = cluster.isWorker && signal === 'SIGHUP';
    // Nest documents the parameter of its class, and its interface does not have it.
    await (app as { close(signal?: string): Promise<void> }).close(signal);
    // It may have been opened meanwhile.
    await dataSource.opening?.catch(() => undefined);
    if (dataSource.isInitialized) await dataSource.destroy();
  }
}

/** Listens, and connects in the background if it takes long. Returns as `serveKind`, and not at all otherwise. */
async function begin(app: NestFastifyApplication, config: Config, isKnown: boolean, ending: AbortSignal) {
  const adapter = app.getHttpAdapter() as unknown as HttpAdapter;
  const isEnding = () => ending.aborted;
  /** Waits for the database. Returns the kind of the server from which the mirror was written if it is another one. */
  const connect = async () => {
    await whileAway(() => app.get<DirectoryDataSource>(DataSource).initialize(), ending);
    if (isKnown) return null;
    const { fingerprint } = await whileAway(() => app.get(MirrorState).get(), ending);
    const kind = kindOfMirror(config, fingerprint);
    return kind === config.directory.server ? null : kind;
  };
  // What needs the database then waits for it.
  await app.init();
  const connecting = connect();
  await Promise.race([connecting, sleep(SOON_MS, undefined, { ref: false })]);
  if (isEnding()) return null;
  adapter.onlyRoutes = PROBE_ROUTES;
  // The port may be in use, which is the first reason.
  connecting.catch(() => undefined);
  await app.listen(config.port, config.host);
  const kind = await connecting;
  if (kind !== null) return kind;
  adapter.onlyRoutes = null;
  const following = app.get(MirrorFollowing);
  const isRead = await whileAway(() => app.get(Database).isRead(), ending);
  const started = following.start();
  // Before the first revision it cannot serve, and the log must not say that it does.
  if (!isRead) await started;
  if (cluster.isWorker) notify('serves');
  await started;
  if (cluster.isPrimary && !isEnding()) {
    const token = await whileAway(() => app.get(DemoServiceAccount).ensure(), ending);
    const isShown = token !== null && isTextLog(config);
    const curl = isShown ? firstQuery(config.baseUrl, 'Basic', token) : '';
    logger.log(describeStart(config, isShown ? { token, curl } : null));
  }
  const other = await following.otherServer;
  logger.log(`The directory server is of the kind ${other}: the service starts again`);
  if (cluster.isPrimary) return other;
  notify('reload');
  return new Promise<never>(() => undefined);
}

/** Repeats work while the database is unavailable. */
async function whileAway<Result>(work: () => Promise<Result>, ending: AbortSignal): Promise<Result> {
  const waiting = new Incident(logger);
  for (;;) {
    try {
      const result = await work();
      waiting.end('The database is reachable');
      return result;
    } catch (error) {
      const isAway =
        error instanceof DatabaseAwayError || databaseError(error) instanceof ServiceUnavailableError;
      if (!isAway || ending.aborted) throw error;
      waiting.note(`${(error as Error).message}. The service waits for it`);
    }
    await sleep(PAUSE_MS, undefined, { signal: ending }).catch(() => undefined);
  }
}

/** Signals are handled from the beginning, so that they do not interrupt the creation of a database. */
function watchSignals(): AbortSignal {
  const ending = new AbortController();
  const end = (signal: NodeJS.Signals) => {
    if (!ending.signal.aborted && cluster.isPrimary) logger.log(`The shutdown begins: ${signal}`);
    ending.abort(signal);
  };
  process.on('SIGTERM', end).on('SIGINT', end).on('SIGHUP', end);
  return ending.signal;
}

/** Logs which build begins: the first line of every log. */
export function beginLog(config: Config): void {
  Logger.overrideLogger(NestLog.of(config));
  const { version, commit } = readBuild();
  const node = process.versions.node;
  if (cluster.isPrimary) logger.log(`Version ${version}, commit ${commit ?? 'unknown'}, Node.js ${node}`);
}
