import { randomUUID } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { ConsoleLogger, type LogLevel } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { FastifyAdapter, type NestFastifyApplication } from '@nestjs/platform-fastify';
import { AppModule } from './app.module.js';
import type { Config } from './config/config.js';

/** Bytes that Node reads of a request's head before it gives up; our own limits are below and answer better. */
const LARGEST_HEAD = 65_536;
const REQUEST_ID = /^[\w.:-]{1,64}$/;

const LOG_LEVELS: readonly LogLevel[] = ['fatal', 'error', 'warn', 'log', 'debug', 'verbose'];

/** Builds the HTTP application: not yet listening. */
export async function createApp(config: Config, snapshot?: string): Promise<NestFastifyApplication> {
  const adapter = new FastifyAdapter({
    bodyLimit: config.limits.bodyBytes,
    trustProxy: config.trustedProxies.length > 0 ? [...config.trustedProxies] : false,
    http: { maxHeaderSize: LARGEST_HEAD },
    genReqId: ({ headers }: IncomingMessage) => {
      const given = headers['x-request-id'];
      return typeof given === 'string' && REQUEST_ID.test(given) ? given : randomUUID();
    },
    // A proxy in front may keep the path of BASE_URL, or take it away.
    rewriteUrl: ({ url = '/' }) => withoutBasePath(url, config.basePath),
    routerOptions: { maxParamLength: 1024 },
  });
  adapter.getInstance().addHook('onRequest', (request, reply, done) => {
    void reply.header('x-request-id', request.id);
    done();
  });
  const app = await NestFactory.create<NestFastifyApplication>(AppModule.forRoot(config, snapshot), adapter, {
    logger: createLogger(config),
    abortOnError: false,
  });
  if (config.corsOrigins.length > 0) {
    app.enableCors({
      origin: [...config.corsOrigins],
      methods: ['GET', 'POST'],
      allowedHeaders: ['authorization', 'content-type', 'x-request-id'],
      exposedHeaders: ['ratelimit', 'ratelimit-policy', 'retry-after', 'www-authenticate', 'x-request-id'],
      maxAge: 600,
    });
  }
  return app;
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

class QuietStartLogger extends ConsoleLogger {
  override log(message: unknown, ...rest: unknown[]): void {
    const context = rest[rest.length - 1];
    if (typeof context === 'string' && STARTUP_CONTEXTS.has(context)) this.debug(message, ...rest);
    else super.log(message, ...rest);
  }
}

function withoutBasePath(url: string, basePath: string): string {
  if (basePath === '' || !url.startsWith(basePath)) return url;
  const rest = url.slice(basePath.length);
  if (rest === '' || rest.startsWith('?')) return `/${rest}`;
  return rest.startsWith('/') ? rest : url;
}
