import { mkdtempSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Module, type Type } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import { DataSource } from 'typeorm';
import { AppModule, REJECTION_FORMS } from '../../../src/app.module.js';
import { readConfig } from '../../../src/config/config.js';
import { HttpAdapter } from '../../../src/http/http-adapter.js';
import { RethrowFilter } from '../../../src/http/rejection.js';
import { MirrorFollowing } from '../../../src/mirror/following.js';
import { buildLdif } from '../builders/directory.js';
import { findFreePort } from './postgres.mjs';
import { type TestDatabase, variable } from './store.js';

/** The application with another module. */
export async function createAppWith(
  module: Type,
  database: TestDatabase,
  prepare: (app: NestFastifyApplication) => unknown = () => undefined,
): Promise<NestFastifyApplication> {
  const port = await findFreePort();
  const file = join(mkdtempSync(join(variable('TEST_WORK_DIRECTORY'), 'nest-')), 'directory.ldif');
  writeFileSync(file, buildLdif([{ id: 'anna' }]));
  const config = readConfig({
    PORT: String(port),
    DATABASE_URL: database.url,
    DIRECTORY_URL: `file:${file}`,
    LOG_LEVEL: 'fatal',
  });
  @Module({})
  class Root {}
  const app = await NestFactory.create<NestFastifyApplication>(
    { module: Root, imports: [AppModule.forRoot(config), module] },
    new HttpAdapter(config, REJECTION_FORMS),
    { logger: false, abortOnError: false },
  );
  app.useGlobalFilters(new RethrowFilter());
  await app.get(DataSource).initialize();
  prepare(app);
  await app.listen(port, '127.0.0.1').catch(async (error: unknown) => {
    await app.close().catch(() => undefined);
    throw error;
  });
  // Without a revision of the mirror nothing is cached.
  await app.get(MirrorFollowing).start();
  return app;
}
