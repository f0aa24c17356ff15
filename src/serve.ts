import { setTimeout as sleep } from 'node:timers/promises';
import { Logger, ShutdownSignal } from '@nestjs/common';
import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import { ServiceUnavailableError } from './common/errors.js';
import { type Config, configFor } from './config/config.js';
import { createApp, REJECTION_FORMS } from './create-app.js';
import { databaseError } from './database/statements/database-error.js';
import { StartupAdapter } from './http/lifecycle.js';
import { MetricsServer } from './monitoring/metrics/metrics.controller.js';
import { NestLog } from './monitoring/log.js';
import { MirrorService } from './mirror/mirror.service.js';
import { MirrorState } from './mirror/status/mirror-state.js';
import { DemoServiceAccount } from './service-accounts/demo-service-account.js';
import { recognize } from './sources/ldap/recognize.js';
import { previousKind } from './start/previous-kind.js';
import { describeStart } from './start/message.js';
import { readStartupMetrics, buildStartupServer } from './start/startup-server.js';

/** What asks a process to end, from an operator, a terminal or a container's supervisor. */
const SIGNALS = [ShutdownSignal.SIGTERM, ShutdownSignal.SIGINT, ShutdownSignal.SIGHUP];
/** Milliseconds between two attempts at what the database is needed for. */
const PAUSE = 1000;
const OPENING = 'The database is being opened, and made where there is none';

/** Serves until the process receives a signal to end. It then ends with exit code 0, even during the start. */
export async function serve(config: Config): Promise<void> {
  // Before anything is logged.
  Logger.overrideLogger(NestLog.of(config));
  const ending = watchSignals();
  const kind = await recognize(config.directory, ending);
  await serveKind(kind === null ? config : configFor(config, kind), ending, kind !== null);
}

/** Serves with the preset of one kind of server, until the process ends or the server is found to be of another kind. */
async function serveKind(config: Config, ending: AbortSignal, isKnown: boolean): Promise<void> {
  const app = await createWithRetry(config, ending);
  if (app === null) return;
  if (ending.aborted) {
    await app.close();
    return;
  }
  const previous = isKnown ? config.directory.server : await previousKind(config, app.get(MirrorState));
  if (previous !== config.directory.server) {
    await app.close();
    await serveKind(configFor(config, previous), ending, true);
    return;
  }
  app.enableShutdownHooks(SIGNALS, { useProcessExit: true });
  try {
    await app.listen(config.port, config.host);
    await app.get(MirrorService).start();
    if (isEnding(ending)) return;
    const demoToken = config.auth.issuer === null ? await ensureDemoToken(app, ending) : null;
    new Logger('Service').log(describeStart(config, demoToken));
    void app.get(MirrorService).otherServer.then((kind) => replace(app, configFor(config, kind), ending));
  } catch (error) {
    // Errors are expected while the application closes: they are not reported.
    if (isEnding(ending)) return;
    await app.close();
    throw error;
  }
}

/** Starts again in the same process, with the preset of another kind of server. */
async function replace(app: NestFastifyApplication, config: Config, ending: AbortSignal): Promise<void> {
  if (ending.aborted) return;
  new Logger('Service').log(
    `The directory server is of the kind ${config.directory.server}: the service starts again`,
  );
  await app.close();
  await serveKind(config, ending, true);
}

/** Retries, because the database can become unavailable after the start. */
async function ensureDemoToken(app: NestFastifyApplication, ending: AbortSignal): Promise<string | null> {
  for (;;) {
    try {
      return await app.get(DemoServiceAccount).ensure();
    } catch (error) {
      if (isEnding(ending) || !(databaseError(error) instanceof ServiceUnavailableError)) throw error;
      await sleep(PAUSE, undefined, { signal: ending }).catch(() => undefined);
    }
  }
}

/** Waits for an unavailable database, and answers requests meanwhile. Null if the process has to end before. */
async function createWithRetry(config: Config, ending: AbortSignal): Promise<NestFastifyApplication | null> {
  const adapter = new StartupAdapter(config, REJECTION_FORMS);
  const metrics = new MetricsServer();
  const { metrics: port } = config.monitoring;
  const logger = new Logger('Service');
  let reported: string | null = null;
  const onWait = async (reason: string | null) => {
    if (reason === null && reported === null) logger.log(OPENING);
    else if (reason !== null && reason !== reported) logger.warn(`${reason}. The service waits for it`);
    reported = reason ?? reported ?? OPENING;
    if (!adapter.isOpen)
      await adapter.open(config.port, config.host, await buildStartupServer(config, REJECTION_FORMS));
    if (port?.kind === 'apart') await metrics.open(port, readStartupMetrics);
  };
  try {
    return await createApp(config, adapter, { signal: ending, onWait });
  } catch (error) {
    adapter.getInstance().server.close();
    if (!ending.aborted) throw error;
    return null;
  } finally {
    // The application opens its own port.
    await metrics.close();
  }
}

/** Signals are handled from the beginning, so that they do not interrupt the creation of a database. */
function watchSignals(): AbortSignal {
  const ending = new AbortController();
  for (const signal of SIGNALS) {
    process.once(signal, () => {
      ending.abort();
    });
  }
  return ending.signal;
}

/** Evaluated on each call, because the signal may arrive during a wait. */
function isEnding(ending: AbortSignal): boolean {
  return ending.aborted;
}
