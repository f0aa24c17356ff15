import type { INestApplication } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import type { FastifyRequest } from 'fastify';
import { AppModule } from './app.module.js';
import type { Config } from './config/config.js';
import type { Waiting } from './database/database.module.js';
import { HttpAdapter } from './http/http-adapter.js';
import { PassOnFilter } from './http/rejection.js';
import { GRAPHQL_REJECTIONS } from './graphql/errors/error-response.js';
import { PICTURE_REJECTIONS } from './media/media.controller.js';
import { NestLog } from './monitoring/log.js';
import { RequestWatch } from './monitoring/request-watch.js';

/** How rejections are written below the paths that have a form of their own. */
export const REJECTION_FORMS = [GRAPHQL_REJECTIONS, PICTURE_REJECTIONS];

/** Builds the HTTP application, which does not listen yet. `waiting`: how it waits for its database; null: not at all. */
export async function createApp(
  config: Config,
  adapter = new HttpAdapter(config, REJECTION_FORMS),
  waiting: Waiting | null = null,
): Promise<NestFastifyApplication> {
  const app = await NestFactory.create<NestFastifyApplication>(AppModule.forRoot(config, waiting), adapter, {
    logger: NestLog.of(config),
    abortOnError: false,
  });
  await registerSteps(app, adapter, config);
  app.useGlobalFilters(new PassOnFilter());
  if (config.corsOrigins.length > 0) {
    app.enableCors({ delegator: (request: FastifyRequest) => Promise.resolve(corsOptions(config, request)) });
  }
  return app;
}

/** The steps of all requests, before those of the GraphQL endpoint (`src/graphql/http/request-pipeline.ts`). */
async function registerSteps(app: INestApplication, adapter: HttpAdapter, config: Config): Promise<void> {
  app.get(RequestWatch).register(adapter);
  if (config.monitoring.traces === null) return;
  // OpenTelemetry takes a quarter of a second to load.
  const { RequestSpans } = await import('./monitoring/tracing/request-spans.js');
  app.get(RequestSpans).register(adapter.getInstance());
}

/** Says for each request what pages of other origins may do. */
function corsOptions({ corsOrigins }: Config, { headers }: FastifyRequest) {
  return {
    origin: [...corsOrigins],
    methods: ['GET', 'POST'],
    allowedHeaders: ['authorization', 'content-type', 'directory-max-staleness', 'x-request-id'],
    exposedHeaders: [
      'deprecation',
      'directory-as-of',
      'directory-revision',
      'ratelimit',
      'ratelimit-policy',
      'retry-after',
      'sunset',
      'www-authenticate',
      'x-request-id',
    ],
    maxAge: 600,
    // An OPTIONS request that is not a preflight is answered by the handler of its path.
    preflight: headers.origin !== undefined && headers['access-control-request-method'] !== undefined,
  };
}
