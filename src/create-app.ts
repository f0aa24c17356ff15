import type { INestApplication } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import { AppModule } from './app.module.js';
import type { Config } from './config/config.js';
import { HttpAdapter } from './http/http-adapter.js';
import { redirectSlashes } from './http/page-slashes.js';
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
  rejectUndiscoverable(app);
  return app;
}

/** Makes methods fail whose elements Nest's discovery does not find, so that @Direct methods and cached responses would skip them. */
function rejectUndiscoverable(app: INestApplication): void {
  for (const [method, token] of Object.entries(UNDISCOVERABLE)) {
    const value = () => {
      throw new Error(
        `${method}() would not affect every field: provide ${token} in a module (docs/nest.md)`,
      );
    };
    Object.defineProperty(app, method, { value, configurable: true });
  }
}

const UNDISCOVERABLE = {
  useGlobalGuards: 'APP_GUARD',
  useGlobalInterceptors: 'APP_INTERCEPTOR',
  useGlobalPipes: 'APP_PIPE',
  useGlobalFilters: 'APP_FILTER',
} satisfies Partial<Record<keyof INestApplication, string>>;

/** The steps of all requests, before those of the GraphQL endpoint (`src/graphql/http/request-pipeline.ts`). */
async function registerSteps(app: INestApplication, adapter: HttpAdapter, config: Config): Promise<void> {
  app.get(RequestWatch).register(adapter);
  redirectSlashes(adapter.getInstance());
  if (config.monitoring.traces === null) return;
  // OpenTelemetry takes a quarter of a second to load.
  const { RequestSpans } = await import('./monitoring/tracing/request-spans.js');
  app.get(RequestSpans).register(adapter.getInstance());
}
