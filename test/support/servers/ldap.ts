import type { Environment } from '../../../src/config/config.js';
import { TestService } from './service.js';
import {
  MIRROR_DN,
  MIRROR_PASSWORD,
  startSlapd,
  type SlapdOptions,
  SUFFIX,
  type TestSlapd,
} from './slapd.mjs';

/** The settings of a service that synchronizes with a directory server. */
export function directorySettings(slapd: TestSlapd): Environment {
  return {
    DIRECTORY_URL: slapd.url,
    DIRECTORY_BASE_DN: SUFFIX,
    DIRECTORY_BIND_DN: MIRROR_DN,
    DIRECTORY_BIND_PASSWORD: MIRROR_PASSWORD,
    DIRECTORY_SYNC_SECONDS: '1',
  };
}

/** A directory server, and a service that synchronizes with it. */
export class FollowedDirectory {
  private constructor(
    readonly slapd: TestSlapd,
    readonly service: TestService,
  ) {}

  static async start(options: SlapdOptions, environment: Environment = {}): Promise<FollowedDirectory> {
    const slapd = await startSlapd(options);
    const service = await TestService.start({ environment: { ...directorySettings(slapd), ...environment } });
    return new FollowedDirectory(slapd, service);
  }

  /** Applies change records, all of which must succeed. */
  async change(...records: string[]): Promise<void> {
    const { code, stderr } = await this.slapd.modify(records.join('\n'));
    if (code !== 0) throw new Error(`ldapmodify: ${stderr}`);
  }

  async stop(): Promise<void> {
    await this.service.stop();
    await this.slapd.remove();
  }
}
