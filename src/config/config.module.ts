import { type DynamicModule, Module } from '@nestjs/common';
import type { Config } from './config.js';

/** Injection token of the configuration. */
export const CONFIG = Symbol('CONFIG');

/** Provides the configuration that was read at the start to all modules. */
@Module({})
export class ConfigModule {
  static forRoot(config: Config): DynamicModule {
    const providers = [{ provide: CONFIG, useValue: config }];
    return { module: ConfigModule, global: true, providers, exports: [CONFIG] };
  }
}
