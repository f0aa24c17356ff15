import { Logger } from '@nestjs/common';
import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import type { AppOptions } from './app.module.js';
import { Incident } from './common/incident.js';
import { type Config, configFor } from './config/config.js';
import { createApp, REJECTION_FORMS } from './create-app.js';
import { StartupAdapter } from './http/lifecycle.js';
import { MirrorState } from './mirror/status/mirror-state.js';
import { MetricsServer } from './monitoring/metrics/metrics.controller.js';
import { previousKind } from './start/previous-kind.js';
import { buildStartupServer, readStartupMetrics } from './start/startup-server.js';

const OPENING = 'Opening the database; it is created if it does not exist';

/** An application with an open database, which does not listen yet, and its configuration. */
interface OpenedApp {
  readonly app: NestFastifyApplication;
  readonly config: Config;
}

/**
 * Builds the application when its database is available. Null if the process has to end before.
 * @param isKnown whether the configuration has the preset of the server that answers. Otherwise it is chosen by the mirror
 */
export async function openApp(
  config: Config,
  isKnown: boolean,
  ending: AbortSignal,
  optionsOf: (config: Config) => AppOptions,
): Promise<OpenedApp | null> {
  const app = await createWithRetry(config, ending, optionsOf(config));
  if (app === null) return null;
  if (ending.aborted) {
    await app.close();
    return null;
  }
  let previous = config.directory.server;
  try {
    if (!isKnown) previous = await previousKind(config, app.get(MirrorState));
    if (previous === config.directory.server) return { app, config };
  } catch (error) {
    await app.close();
    throw error;
  }
  await app.close();
  return openApp(configFor(config, previous), true, ending, optionsOf);
}

/** Waits for an unavailable database, and answers requests meanwhile. Null if the process has to end before. */
async function createWithRetry(
  config: Config,
  ending: AbortSignal,
  options: AppOptions,
): Promise<NestFastifyApplication | null> {
  const adapter = new StartupAdapter(config, REJECTION_FORMS);
  const metrics = new MetricsServer();
  const { metrics: port } = config.monitoring;
  const logger = new Logger('Service');
  const waiting = new Incident(logger);
  let reported: string | null = null;
  const onWait = async (reason: string | null) => {
    if (reason === null && reported === null) logger.log(OPENING);
    else if (reason !== null) waiting.note(`${reason}. The service waits for it`);
    reported = reason ?? reported ?? OPENING;
    if (!adapter.isOpen)
      await adapter.open(config.port, config.host, await buildStartupServer(config, REJECTION_FORMS));
    if (port?.kind === 'apart') await metrics.open(port, () => readStartupMetrics(config));
  };
  try {
    const app = await createApp(config, adapter, { ...options, waiting: { signal: ending, onWait } });
    waiting.end('The database is reachable');
    return app;
  } catch (error) {
    adapter.getInstance().server.close();
    if (!ending.aborted) throw error;
    return null;
  } finally {
    // The application opens its own port.
    await metrics.close();
  }
}
