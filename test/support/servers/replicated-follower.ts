import { DataSource } from 'typeorm';
import type { Environment } from '../../../src/config/config.js';
import { createApp } from '../../../src/app.module.js';
import { MirrorFollowing } from '../../../src/mirror/following.js';
import { MirrorState, SyncState } from '../../../src/mirror/status/mirror-state.js';
import { eventually, isEqual } from '../eventually.js';
import { directorySettings } from './ldap.js';
import { expectMirror, parseDump } from '../builders/ldap-content.js';
import {
  countDeletions,
  readIds,
  readInconsistencies,
  readMirror,
  readNames,
  readPeople,
} from '../builders/ldap-mirror.js';
import type { ReplicatedSlapd } from './replicated-slapd.js';
import { TestService } from './service.js';

/** A service that follows replicated servers, which a test stops and starts. */
export class ReplicatedFollower {
  private constructor(
    private readonly service: TestService,
    public app: TestService['app'],
  ) {}

  static async start(
    slapd: ReplicatedSlapd,
    url: string,
    environment: Environment = {},
  ): Promise<ReplicatedFollower> {
    const service = await TestService.start({
      environment: {
        ...directorySettings(slapd.at(0)),
        DIRECTORY_URL: url,
        DIRECTORY_GUARD_PERCENT: '100',
        ...environment,
      },
    });
    return new ReplicatedFollower(service, service.app);
  }

  async pause(): Promise<void> {
    await this.app.close();
  }

  async resume(): Promise<void> {
    this.app = await createApp(this.service.config);
    await this.app.init();
    await this.app.get(MirrorFollowing).start();
  }

  async stop(): Promise<void> {
    await this.app.close();
    await this.service.stop();
  }

  readonly readStatus = () => this.app.get(MirrorState).get();
  readonly readState = async () => (await this.app.get(MirrorState).get()).state;
  readonly readReason = async () => (await this.app.get(MirrorState).get()).reason;
  readonly readNames = () => readNames(this);
  readonly readIds = () => readIds(this);
  readonly readPeople = () => readPeople(this);
  readonly countLosses = () => countDeletions(this);

  /** Waits until the mirror equals the content of a server, and its state is current. */
  async expectToEqual(slapd: ReplicatedSlapd, index: number): Promise<void> {
    const wanted = expectMirror(parseDump(await slapd.at(index).search({ attributes: ['*', 'entryUUID'] })));
    const dataSource = this.app.get(DataSource);
    await eventually(async () => differencesOf(await readMirror(dataSource), wanted), []);
    await eventually(this.readState, SyncState.IDLE);
    expect(await readInconsistencies(dataSource)).toEqual([]);
  }
}

type Contents = Awaited<ReturnType<typeof readMirror>>;

/** The differences between both, in short. */
function differencesOf(mirror: Contents, wanted: Contents): string[] {
  return (['people', 'groups', 'roles'] as const).flatMap((part) =>
    [...new Set([...Object.keys(mirror[part]), ...Object.keys(wanted[part])])]
      .filter((key) => !isEqual(mirror[part][key], wanted[part][key]))
      .map((key) => `${part} ${key}: ${JSON.stringify(mirror[part][key] ?? null).slice(0, 200)}`),
  );
}
