import { setTimeout as sleep } from 'node:timers/promises';
import { Logger, ShutdownSignal } from '@nestjs/common';
import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import { ServiceUnavailableError } from './common/errors.js';
import { type Config, ConfigError, configFor, readValues } from './config/config.js';
import type { PresetName } from './config/model/presets/presets.js';
import { openApp } from './open-app.js';
import { databaseError } from './database/statements/database-error.js';
import { isTextLog, NestLog } from './monitoring/log.js';
import { MirrorFollowing } from './mirror/following.js';
import { DemoServiceAccount } from './service-accounts/demo-service-account.js';
import { recognize } from './sources/ldap/ldap-servers.js';
import { logBeginning, logShutdown } from './start/lifecycle-log.js';
import { describeStart } from './start/message.js';
import { isInTerminal, readSettingsAgain, type SettingsInUse } from './start/preconditions.js';

/** What asks a process to end, from an operator, a terminal or a container's supervisor. */
const SIGNALS = [
  ShutdownSignal.SIGTERM,
  ShutdownSignal.SIGINT,
  ...(isInTerminal() ? [ShutdownSignal.SIGHUP] : []),
];
/** Milliseconds between two attempts at what the database is needed for. */
const PAUSE = 1000;

/** Serves until the process receives a signal to end. It then ends with exit code 0, even during the start. */
export async function serve(config: Config): Promise<void> {
  // Before anything is logged.
  Logger.overrideLogger(NestLog.of(config));
  logBeginning();
  const ending = watchSignals();
  if (!isInTerminal()) reportChanges({ config, values: readValues() });
  const kind = await recognize(config.directory, ending);
  await serveKind(kind === null ? config : configFor(config, kind), ending, kind !== null);
}

/** Serves with the preset of one kind of server, until the process ends or the server is found to be of another kind. */
async function serveKind(given: Config, ending: AbortSignal, isKnown: boolean): Promise<void> {
  for (;;) {
    try {
      await serveOnce(given, ending, isKnown);
      return;
    } catch (error) {
      if (isEnding(ending) || !(databaseError(error) instanceof ServiceUnavailableError)) throw error;
      new Logger('Service').warn('The database was lost during the start: the service starts again');
      await sleep(PAUSE, undefined, { signal: ending }).catch(() => undefined);
    }
  }
}

async function serveOnce(given: Config, ending: AbortSignal, isKnown: boolean): Promise<void> {
  const opened = await openApp(given, isKnown, ending, () => ({}));
  if (opened === null) return;
  const { app, config } = opened;
  app.enableShutdownHooks(SIGNALS, { useProcessExit: true });
  try {
    await app.listen(config.port, config.host);
    await app.get(MirrorFollowing).start();
    if (isEnding(ending)) return;
    const demoToken = config.auth.issuer === null ? await ensureDemoToken(app, ending) : null;
    new Logger('Service').log(describeStart(config, demoToken, isTextLog(config)));
    void app.get(MirrorFollowing).otherServer.then((kind) => serveOther(app, config, kind, ending));
  } catch (error) {
    // Errors are expected while the application closes: they are not reported.
    if (isEnding(ending)) return;
    await app.close();
    throw error;
  }
}

/**
 * Starts again in the same process, with the preset of another kind of server. If the model does not go with it, the service
 * continues with what the mirror has.
 */
async function serveOther(
  app: NestFastifyApplication,
  config: Config,
  kind: PresetName,
  ending: AbortSignal,
): Promise<void> {
  if (ending.aborted) return;
  const logger = new Logger('Service');
  const other = readFor(config, kind, logger);
  if (other === null) return;
  logger.log(`The directory server is of the kind ${kind}: the service starts again`);
  await app.close();
  await serveKind(other, ending, true);
}

/** Null if the model does not go with the kind of server, which is logged. */
function readFor(config: Config, kind: PresetName, logger: Logger): Config | null {
  try {
    return configFor(config, kind);
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    logger.error(`The service does not read this server: ${error.problems.join('; ')}`);
    return null;
  }
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

/** One process cannot replace itself without failed requests: on SIGHUP it logs what a restart would change. */
function reportChanges(inUse: SettingsInUse): void {
  const logger = new Logger('Service');
  process.on('SIGHUP', () => {
    try {
      const { changed } = readSettingsAgain(inUse);
      if (changed.length === 0) logger.log('SIGHUP: the settings are read again, and have not changed');
      else
        logger.warn(
          `SIGHUP: restart the service, so that changed settings take effect: ${changed.join(', ')}`,
        );
    } catch (error) {
      if (!(error instanceof ConfigError)) throw error;
      logger.error(`SIGHUP: the changed settings cannot be used: ${error.problems.join('; ')}`);
    }
  });
}

/** Signals are handled from the beginning, so that they do not interrupt the creation of a database. */
function watchSignals(): AbortSignal {
  const ending = new AbortController();
  for (const signal of SIGNALS) {
    process.once(signal, () => {
      if (!ending.signal.aborted) logShutdown(signal);
      ending.abort();
    });
  }
  return ending.signal;
}

/** Evaluated on each call, because the signal may arrive during a wait. */
function isEnding(ending: AbortSignal): boolean {
  return ending.aborted;
}
