import { NestFactory } from '@nestjs/core';
import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import type { FastifyRequest } from 'fastify';
import { AppModule } from './app.module.js';
import type { Config } from './config/config.js';
import type { Waiting } from './database/connections/open-with-retry.js';
import { HttpAdapter } from './http/http-adapter.js';
import { PassOnFilter } from './http/reject-request.js';
import { NestLog } from './monitoring/logging/nest-log.js';

/**
 * Builds the HTTP application: not yet listening.
 * @param adapter what it will listen by
 * @param waiting how it waits for its database; null: not at all
 */
export async function createApp(
  config: Config,
  adapter = new HttpAdapter(config),
  waiting: Waiting | null = null,
): Promise<NestFastifyApplication> {
  const app = await NestFactory.create<NestFastifyApplication>(AppModule.forRoot(config, waiting), adapter, {
    logger: NestLog.of(config),
    abortOnError: false,
  });
  app.useGlobalFilters(new PassOnFilter());
  if (config.corsOrigins.length > 0) {
    app.enableCors({ delegator: (request: FastifyRequest) => Promise.resolve(corsOptions(config, request)) });
  }
  return app;
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
    // An OPTIONS that is no preflight is for whoever answers the path.
    preflight: headers.origin !== undefined && headers['access-control-request-method'] !== undefined,
  };
}
