import { fork } from 'node:child_process';
import { type BeforeApplicationShutdown, Injectable, Logger, type OnModuleDestroy } from '@nestjs/common';
import { CHILD_STDIO } from '../common/child-input.js';
import { SupervisedProcess } from '../common/supervised-process.js';
import type { Config } from '../config/config.js';
import { writeConfigCopy } from '../config/config-copy.js';
import { PRESET_NAMES, type PresetName } from '../config/model/presets/presets.js';
import { MirrorFollowing } from './mirror-following.js';
import type { FollowerState } from './status/follower-state.js';

/** Keeps the mirror synchronized in a process of its own, so that no request waits for its event loop (docs/adr/0043). */
@Injectable()
export class FollowerProcess extends MirrorFollowing implements OnModuleDestroy, BeforeApplicationShutdown {
  private readonly logger = new Logger('Mirror');
  private readonly supervised: SupervisedProcess;
  private onSettled: () => void = () => undefined;
  private onOtherServer: (kind: PresetName) => void = () => undefined;
  private ending: Promise<void> = Promise.resolve();
  readonly otherServer = new Promise<PresetName>((resolve) => {
    this.onOtherServer = resolve;
  });

  /**
   * @param entry the main file of the process
   * @param server the kind of server whose preset it uses; null: it chooses the one with which the mirror was written
   * @param config also for a process that starts later
   */
  constructor(entry: URL, server: PresetName | null, config: Config) {
    super();
    this.supervised = new SupervisedProcess({
      spawn: () => fork(entry, server === null ? [] : [server], { stdio: CHILD_STDIO }),
      input: writeConfigCopy(config),
      handlers: {
        settled: () => {
          this.onSettled();
        },
        otherServer: (kind) => {
          const known = PRESET_NAMES.find((name) => name === kind);
          if (known !== undefined) this.onOtherServer(known);
        },
      },
      onFault: (reason, pause) => {
        this.logger.error(
          `The process that follows the directory has ended (${reason}): it starts again in ${pause} ms`,
        );
        this.onSettled();
      },
    });
  }

  async start(): Promise<void> {
    await new Promise<void>((resolve) => {
      this.onSettled = resolve;
      this.supervised.start();
    });
  }

  async readState(): Promise<FollowerState | null> {
    return (await this.supervised.ask('state')) as FollowerState | null;
  }

  onModuleDestroy(): void {
    this.onSettled();
    this.ending = this.supervised.stop();
  }

  async beforeApplicationShutdown(): Promise<void> {
    await this.ending;
  }
}
