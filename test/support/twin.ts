import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import { type Config, type Environment, readConfig } from '../../src/config/config.js';
import { NO_SAMPLE } from './builders/built-in-config.js';
import { findFreePort } from './servers/postgres.mjs';
import { openApp, type TestService } from './servers/service.js';

/** A second service on the same database, with the same address, keys and tokens. It does not synchronize. */
export class TwinService {
  private constructor(
    readonly app: NestFastifyApplication,
    readonly config: Config,
  ) {}

  /** It has the model of the other service, unless the environment names another. */
  static async start({ config: other }: TestService, environment: Environment = {}): Promise<TwinService> {
    const config = readConfig({
      PORT: String(await findFreePort()),
      BASE_URL: other.baseUrl,
      DATABASE_URL: other.database.url,
      ...NO_SAMPLE,
      ...(other.modelFile !== null && { DIRECTORY_MODEL: other.modelFile }),
      LIMIT_REQUESTS_PER_MINUTE: '1000000',
      LIMIT_POINTS_PER_HOUR: '100000000',
      DATABASE_TIMEOUT_SECONDS: '60',
      LOG_LEVEL: 'fatal',
      ...environment,
    });
    const app = await openApp(config);
    await app.listen(config.port, config.host);
    return new TwinService(app, config);
  }

  async stop(): Promise<void> {
    await this.app.close();
  }
}
