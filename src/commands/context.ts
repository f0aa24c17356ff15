import type { INestApplicationContext } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { AppModule } from '../app.module.js';
import type { Config } from '../config/config.js';
import { createLogger } from '../create-app.js';

/** Opens the house without its front door, for as long as `work` takes. */
export async function withApplication<Result>(
  config: Config,
  work: (app: INestApplicationContext) => Promise<Result>,
): Promise<Result> {
  const app = await NestFactory.createApplicationContext(AppModule.forRoot(config), {
    // What a command prints is its answer; only what goes wrong is added to it.
    logger: createLogger({ logLevel: 'warn' }),
    abortOnError: false,
  });
  try {
    return await work(app);
  } finally {
    await app.close();
  }
}
