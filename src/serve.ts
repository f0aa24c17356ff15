import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import { Logger } from '@nestjs/common';
import type { Config } from './config/config.js';
import { createApp } from './create-app.js';
import { describeStart } from './start-message.js';
import { MirrorService } from './mirror/mirror.service.js';
import { DemoServiceAccount } from './service-accounts/demo-service-account.js';

/** Serves until the process is told to end. */
export async function serve(config: Config): Promise<NestFastifyApplication> {
  const app = await createApp(config);
  app.enableShutdownHooks();
  try {
    await app.listen(config.port, config.host);
    await app.get(MirrorService).start();
    const demoToken = config.auth.issuer === null ? await app.get(DemoServiceAccount).ensure() : null;
    new Logger('Service').log(describeStart(config, demoToken));
  } catch (error) {
    await app.close();
    throw error;
  }
  return app;
}
