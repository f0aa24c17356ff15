import type { INestApplication } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import { AppModule } from './app.module.js';
import type { Config } from './config/config.js';
import { HttpAdapter } from './http/http-adapter.js';
import { RethrowFilter } from './http/rejection.js';
import { GRAPHQL_REJECTIONS } from './graphql/errors/error-response.js';
import { PICTURE_REJECTIONS } from './media/media.controller.js';
import { NestLog } from './monitoring/log.js';
import { RequestWatch } from './monitoring/request-watch.js';

/** How rejections are written below the paths that have a form of their own. */
export const REJECTION_FORMS = [GRAPHQL_REJECTIONS, PICTURE_REJECTIONS];

/**
 * Builds the HTTP application, which does not listen yet.
 * @param opensLater whether the database is opened later
 */
export async function createApp(
  config: Config,
  adapter = new HttpAdapter(config, REJECTION_FORMS),
  opensLater = false,
): Promise<NestFastifyApplication> {
  const app = await NestFactory.create<NestFastifyApplication>(
    AppModule.forRoot(config, opensLater),
    adapter,
    {
      logger: NestLog.of(config),
      abortOnError: false,
    },
  );
  await registerSteps(app, adapter, config);
  app.useGlobalFilters(new RethrowFilter());
  return app;
}

/** The steps of all requests, before those of the GraphQL endpoint (`src/graphql/http/endpoint.ts`). */
async function registerSteps(app: INestApplication, adapter: HttpAdapter, config: Config): Promise<void> {
  app.get(RequestWatch).register(adapter);
  if (config.monitoring.traces === null) return;
  // OpenTelemetry takes a quarter of a second to load.
  const { startTracing } = await import('./monitoring/tracing.js');
  startTracing(config, adapter.getInstance());
}
