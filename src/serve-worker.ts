import { once } from 'node:events';
import { Logger } from '@nestjs/common';
import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import { type Config, configFor, configOfWorker } from './config/config.js';
import { PRESET_NAMES } from './config/model/presets/presets.js';
import { ProcessIndicator } from './health/indicators.js';
import { createLog, NestLog } from './monitoring/log.js';
import { MetricsService } from './monitoring/metrics/metrics.service.js';
import { MirrorFollowing } from './mirror/following.js';
import { openApp } from './open-app.js';
import { WorkerLink } from './start/worker-link.js';

/** Contexts of the log about which the first worker reports the same. */
const REPORTED_BY_FIRST = ['Database', 'Limits'];

/** Serves requests beside other workers, until the supervisor ends this process. */
export async function serveWorker(config: Config): Promise<void> {
  const [position, server] = process.argv.slice(2);
  const log = new NestLog(createLog(config), position === 'first' ? [] : REPORTED_BY_FIRST);
  Logger.overrideLogger(log);
  const link = new WorkerLink();
  const { counts, otherProcesses, ending } = link;
  const own = configOfWorker(config);
  const kind = PRESET_NAMES.find((name) => name === server);
  const given = kind === undefined ? own : configFor(own, kind);
  const opened = await openApp(given, kind !== undefined, ending, () => ({
    counts,
    otherProcesses,
    log,
  }));
  if (opened !== null) await listen(opened.app, given, link);
  process.exit(0);
}

/** Nest documents the parameter of its class, and its interface does not have it. */
interface Closable {
  close(signal?: string): Promise<void>;
}

async function listen(
  app: NestFastifyApplication,
  { port, host, monitoring }: Config,
  link: WorkerLink,
): Promise<void> {
  const { ending, messenger } = link;
  const metrics = monitoring.metrics === null ? null : app.get(MetricsService);
  link.readMetrics = () => metrics?.families() ?? null;
  if (!ending.aborted) {
    await app.listen(port, host);
    await messenger.notify('listening');
    const following = app.get(MirrorFollowing);
    void following.otherServer.then((server) => messenger.notify('otherServer', server));
    void following.start();
  }
  if (!ending.aborted) await once(ending, 'abort');
  const signal = String(ending.reason);
  app.get(ProcessIndicator).isReplaced = link.isReplaced;
  const closable: Closable = app;
  await closable.close(signal);
  await messenger.notify('unused', link.counts.giveBackAll());
  await messenger.notify('ended', await metrics?.lastFamilies());
}
