import { type DynamicModule, type INestApplicationContext, Logger, Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { Messenger } from './common/messenger.js';
import { type Config, configFor } from './config/config.js';
import { ConfigModule } from './config/config.module.js';
import { PRESET_NAMES } from './config/model/presets/presets.js';
import { DatabaseModule, type Waiting } from './database/database.module.js';
import { ENTITIES } from './entities.js';
import { MirrorModule } from './mirror/mirror.module.js';
import { LocalFollowing } from './mirror/local-following.js';
import { MirrorState } from './mirror/status/mirror-state.js';
import { createLog, NestLog } from './monitoring/log.js';
import { previousKind } from './start/previous-kind.js';

/** Connections of the follower: one for its transactions, others for what it reads meanwhile. */
const POOL_SIZE = 5;
/** Contexts of the log about which the processes that serve requests report the same. */
const REPORTED_BY_OTHERS = ['Database'];

/** The modules of the process that follows the directory. */
@Module({})
class FollowModule {
  static async forRoot(config: Config, waiting: Waiting): Promise<DynamicModule> {
    return {
      module: FollowModule,
      imports: [
        ConfigModule.forRoot(config),
        DatabaseModule.forRoot(config, ENTITIES, waiting, { prepares: true }),
        MirrorModule,
        ...(config.webhooks.length === 0 ? [] : [await loadWebhooks()]),
        ...(config.monitoring.traces === null ? [] : [await loadTracing()]),
      ],
    };
  }
}

async function loadWebhooks(): Promise<DynamicModule> {
  const { WebhooksModule } = await import('./webhooks/webhooks.module.js');
  return { module: WebhooksModule };
}

async function loadTracing(): Promise<DynamicModule> {
  const { TracingModule } = await import('./monitoring/tracing/tracing.module.js');
  return { module: TracingModule };
}

/** Follows the directory until the process that started this one ends it, or ends itself. */
export async function follow(config: Config): Promise<void> {
  const log = new NestLog(createLog(config), REPORTED_BY_OTHERS);
  Logger.overrideLogger(log);
  const ending = watchEnd();
  const own = ofFollower(config);
  const given = PRESET_NAMES.find((name) => name === process.argv[2]);
  let app = await create(given === undefined ? own : configFor(own, given), ending, log);
  if (app !== null && given === undefined) {
    const kind = await previousKind(own, app.get(MirrorState));
    if (kind !== own.directory.server) {
      await app.close();
      app = await create(configFor(own, kind), ending, log);
    }
  }
  if (app !== null) await run(app, ending);
  process.exit(0);
}

/** Follows with an open database until the end. */
async function run(app: INestApplicationContext, ending: AbortSignal): Promise<void> {
  const mirror = app.get(LocalFollowing);
  const parent = new Messenger(process, { state: () => mirror.readState() });
  void mirror.otherServer.then((kind) => {
    void parent.notify('otherServer', kind);
  });
  const ended = new Promise<void>((resolve) => {
    ending.addEventListener('abort', () => {
      resolve();
    });
    if (ending.aborted) resolve();
  });
  void mirror.start().then(() => {
    void parent.notify('settled');
  });
  await ended;
  await app.close();
}

/** Returns null if the process has to end before the database is open. */
async function create(
  config: Config,
  ending: AbortSignal,
  logger: NestLog,
): Promise<INestApplicationContext | null> {
  const waiting = { signal: ending, onWait: () => Promise.resolve() };
  try {
    const module = await FollowModule.forRoot(config, waiting);
    return await NestFactory.createApplicationContext(module, { logger, abortOnError: false });
  } catch (error) {
    if (!ending.aborted) throw error;
    return null;
  }
}

/** The follower reads from the primary only. */
function ofFollower(config: Config): Config {
  const { database } = config;
  const poolSize = Math.min(database.poolSize, POOL_SIZE);
  return { ...config, database: { ...database, replicaUrls: [], poolSize } };
}

/** The process that started this one decides about the signals of a terminal, which all processes receive. */
function watchEnd(): AbortSignal {
  const ending = new AbortController();
  process.on('SIGINT', () => undefined);
  process.on('SIGHUP', () => undefined);
  process.once('SIGTERM', () => {
    ending.abort();
  });
  // Without that process nothing supervises this one. Its transaction is rolled back.
  process.once('disconnect', () => process.exit(1));
  // It can have ended while the modules of this one were loaded.
  if (!process.connected) process.exit(1);
  return ending.signal;
}
