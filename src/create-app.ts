import { isNativeError } from 'node:util/types';
import { ConsoleLogger, type LogLevel } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import type { FastifyRequest } from 'fastify';
import { AppModule } from './app.module.js';
import type { Config } from './config/config.js';
import type { Waiting } from './database/open-patiently.js';
import { HttpAdapter } from './http/http-adapter.js';
import { PassOnFilter } from './http/refuse-request.js';

const LOG_LEVELS: readonly LogLevel[] = ['fatal', 'error', 'warn', 'log', 'debug', 'verbose'];

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
    logger: createLogger(config),
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
    allowedHeaders: ['authorization', 'content-type', 'x-request-id'],
    exposedHeaders: [
      'deprecation',
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

/** Nest's own start-up messages are not what an operator wants to read first: they come with `debug`. */
export function createLogger({ logLevel }: Pick<Config, 'logLevel'>): ConsoleLogger {
  return new QuietStartLogger({
    prefix: 'directory',
    logLevels: LOG_LEVELS.slice(0, LOG_LEVELS.indexOf(logLevel) + 1),
  });
}

const STARTUP_CONTEXTS = new Set([
  'NestFactory',
  'InstanceLoader',
  'RoutesResolver',
  'RouterExplorer',
  'NestApplication',
  'GraphQLModule',
]);

/** Where Nest tells a start that failed before it throws: whoever started it says why, in one line. */
const FAILURE_CONTEXTS = new Set(['ExceptionHandler', 'NestApplication', 'TypeOrmModule']);

class QuietStartLogger extends ConsoleLogger {
  /** Of an error its stack: libraries put statements with their values, settings and headers beside it. */
  protected override stringifyMessage(message: unknown, level: LogLevel): string {
    return super.stringifyMessage(
      isNativeError(message) ? (message.stack ?? message.message) : message,
      level,
    );
  }

  override log(message: unknown, ...rest: unknown[]): void {
    const context = rest[rest.length - 1];
    if (typeof context === 'string' && STARTUP_CONTEXTS.has(context)) this.debug(message, ...rest);
    else super.log(message, ...rest);
  }

  override error(message: unknown, ...rest: unknown[]): void {
    const context = rest[rest.length - 1];
    if (typeof context === 'string' && FAILURE_CONTEXTS.has(context)) this.debug(message, ...rest);
    else super.error(message, ...rest);
  }
}
