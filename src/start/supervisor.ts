import { Logger } from '@nestjs/common';
import { type Config, ConfigError, configFor, readValues } from '../config/config.js';
import { PRESET_NAMES, type PresetName } from '../config/model/presets/presets.js';
import { GrantedCounts, type GrantRequest, type UnusedGrant } from '../limits/granted-counts.js';
import { NestLog } from '../monitoring/log.js';
import { EndedMetrics } from '../monitoring/metrics/ended-metrics.js';
import type { MetricFamilies } from '../monitoring/metrics/registry.js';
import { recognize } from '../sources/ldap/ldap-servers.js';
import { EXIT_FAILED } from './failure.js';
import { logBeginning, logShutdown } from './lifecycle-log.js';
import { describeStart } from './message.js';
import { isInTerminal, readSettingsAgain, type SettingsInUse } from './preconditions.js';
import { type StopOrder, WorkerProcess } from './worker-process.js';

/** The main files of the processes. */
type Entries = Readonly<Record<'worker', URL>>;

/** What all processes start with. */
interface Given {
  readonly config: Config;
  /** Null: not known yet, or named by the model. */
  readonly server: PresetName | null;
}

/** @throws ConfigError if the model does not go with the kind of server */
function givenBy(config: Config, server: PresetName | null): Given {
  if (server !== null) configFor(config, server);
  return { config, server };
}

/** Supervises several processes that serve requests, one of which follows the directory, until a signal ends all of them. */
export async function supervise(config: Config, entries: Entries): Promise<void> {
  Logger.overrideLogger(NestLog.of(config));
  logBeginning();
  await new Supervisor(config, entries).run();
}

class Supervisor {
  private readonly logger = new Logger('Service');
  private readonly ending = new AbortController();
  private readonly counts: GrantedCounts;
  /** The present ones. */
  private workers: WorkerProcess[] = [];
  /** The same, with those that start, or end, because one replaces the other. */
  private readonly processes = new Set<WorkerProcess>();
  private isStarted = false;
  private given: Given;
  private inUse: SettingsInUse;
  /** The kind of server that was found since; null: none. */
  private found: PresetName | null = null;
  private readonly ended = new EndedMetrics();
  private restarting: Promise<void> = Promise.resolve();
  /** Whether a signal to restart waits for the restart before it. A further signal then asks for the same. */
  private isRestartRequested = false;

  constructor(
    private readonly config: Config,
    private readonly entries: Entries,
  ) {
    this.given = { config, server: null };
    this.inUse = { config, values: readValues() };
    this.counts = new GrantedCounts(config.workers, (name, subject) => this.reclaim(name, subject));
    for (const signal of ['SIGTERM', 'SIGINT'] as const) process.once(signal, () => void this.stop(signal));
    process.on('SIGHUP', () => {
      if (isInTerminal()) void this.stop('SIGINT');
      else if (!this.isRestartRequested) {
        this.isRestartRequested = true;
        this.requestRestart(() => {
          this.isRestartRequested = false;
          return givenBy(this.readAgain(), this.found ?? this.given.server);
        });
      }
    });
  }

  /** The number of processes stays: all of them share the limits by it. */
  private readAgain(): Config {
    const { changed, ...inUse } = readSettingsAgain(this.inUse);
    const { workers } = this.config;
    if (inUse.config.workers === 1)
      throw new ConfigError([
        `${changed.join(', ')}: the service has one process with these settings. Stop and start it`,
      ]);
    this.inUse = inUse;
    if (changed.length > 0) this.logger.log(`Changed settings: ${changed.join(', ')}`);
    if (inUse.config.workers !== workers)
      this.logger.warn('WORKERS takes effect when the service is stopped and started');
    return { ...inUse.config, workers };
  }

  /** Starts the first worker alone, so that a failure of the start is reported once. */
  async run(): Promise<void> {
    const { config, ending } = this;
    const starting = this.startWorkers();
    // A signal to restart may arrive before there is something to replace.
    this.restarting = starting;
    await starting;
    if (isAborted(ending)) return;
    this.isStarted = true;
    await Promise.all(this.workers.map(({ listening }) => listening));
    if (isAborted(ending)) return;
    const { server } = this.given;
    this.logger.log(describeStart(server === null ? config : configFor(config, server), null));
  }

  private async startWorkers(): Promise<void> {
    const { config, ending } = this;
    this.given = { ...this.given, server: await recognize(config.directory, ending.signal) };
    if (ending.signal.aborted) process.exit(0);
    const first = this.startWorker(0, this.given);
    this.workers = [first];
    if (!(await first.listening)) return;
    for (let index = 1; index < config.workers; index++)
      this.workers.push(this.startWorker(index, this.given));
  }

  private startWorker(index: number, { config, server }: Given): WorkerProcess {
    const worker: WorkerProcess = new WorkerProcess({
      entry: this.entries.worker,
      args: [
        index === 0 ? 'first' : 'other',
        server ?? '',
        ...process.argv.filter((each) => each === '--json'),
      ],
      config,
      handlers: {
        take: (request) => this.counts.take(request as GrantRequest),
        unused: (grants) => {
          this.counts.takeBack(grants as UnusedGrant[]);
        },
        otherServer: (kind) => {
          this.noteServer(PRESET_NAMES.find((name) => name === kind) ?? null);
        },
        otherMetrics: (own) => this.readMetrics(worker, own as MetricFamilies),
      },
      onEnd: (metrics) => {
        this.ended.add(metrics);
      },
      onFault: (reason, pause, code) => {
        this.noteFault(worker, reason, pause, code);
      },
    });
    this.processes.add(worker);
    return worker;
  }

  /** A worker that ends before the service has started has reported why. */
  private noteFault(worker: WorkerProcess, reason: string, pause: number, code: number | null): void {
    if (this.ending.signal.aborted) return;
    if (!this.isStarted) process.exit(code ?? EXIT_FAILED);
    if (!this.workers.includes(worker)) return;
    this.logger.error(`A process that serves requests has ended (${reason}): it starts again in ${pause} ms`);
  }

  private noteServer(kind: PresetName | null): void {
    if (kind === null || kind === this.found) return;
    this.logger.log(`The directory server is of the kind ${kind}: the service starts again`);
    this.found = kind;
    this.requestRestart(() => givenBy(this.given.config, kind));
  }

  /** Replaces one process after the other. The new ones get the configuration that is read. */
  private requestRestart(read: () => Given): void {
    this.restarting = this.restarting.then(() => this.restart(read));
  }

  private async restart(read: () => Given): Promise<void> {
    let given: Given;
    try {
      given = read();
    } catch (error) {
      if (!(error instanceof ConfigError)) throw error;
      this.logger.error(`The service does not start again: ${error.problems.join('; ')}`);
      return;
    }
    for (let index = 0; index < this.config.workers; index++) {
      if (this.ending.signal.aborted) return;
      if (!(await this.replaceWorker(index, given))) {
        if (isAborted(this.ending)) return;
        this.logger.error('A new process does not start: the present ones continue');
        await this.putBack(index);
        return;
      }
    }
    this.given = given;
    this.found = null;
    if (isAborted(this.ending)) return;
    this.logger.log('All processes were replaced');
  }

  /** @returns whether the new process listens; otherwise the former one continues */
  private async replaceWorker(index: number, given: Given): Promise<boolean> {
    const next = this.startWorker(index, given);
    if (!(await next.listening)) {
      if (!isAborted(this.ending)) await this.end(next, { signal: 'SIGTERM', isReplaced: true });
      return false;
    }
    const [previous] = this.workers.splice(index, 1, next);
    if (previous !== undefined) await this.end(previous, { signal: 'SIGHUP', isReplaced: true });
    return true;
  }

  /** Replaces the first processes again, so that all of them are given the same. */
  private async putBack(count: number): Promise<void> {
    for (let index = 0; index < count; index++) {
      if (isAborted(this.ending)) return;
      if (!(await this.replaceWorker(index, this.given)) && !isAborted(this.ending))
        this.logger.error('A process continues with the new model: restart with SIGHUP');
    }
  }

  private async stop(signal: NodeJS.Signals): Promise<void> {
    if (!this.ending.signal.aborted) logShutdown(signal);
    this.ending.abort();
    // The others leave new connections to the last process that listens, which accepts them for a second more.
    const last = this.workers.filter(({ isListening }) => isListening).at(-1);
    const ends = [...this.processes].map((worker) => {
      const isOther = signal === 'SIGTERM' && worker !== last;
      return this.end(worker, { signal: isOther ? 'SIGHUP' : signal, isReplaced: false });
    });
    await Promise.all(ends);
    process.exit(0);
  }

  private async end(worker: WorkerProcess, order: StopOrder): Promise<void> {
    await worker.stop(order);
    this.processes.delete(worker);
  }

  /** What a process does not return in time stays counted. */
  private async reclaim(name: string, subject: string): Promise<number> {
    const returned = await Promise.all(
      [...this.processes].map((worker) => worker.ask('giveBack', { name, subject })),
    );
    return returned.reduce<number>((sum, each) => sum + Number(each ?? 0), 0);
  }

  /** @param own the metrics of the process that asks: it may end before another one asks for them */
  private async readMetrics(worker: WorkerProcess, own: MetricFamilies): Promise<MetricFamilies[]> {
    worker.note(own);
    // Read before the wait, in which a process may end: its counts must be in the sum once.
    const { families } = this.ended;
    const others = [...this.processes].filter((other) => other !== worker);
    // Processes that do not reply in time are left out.
    const replies = await Promise.all(others.map((other) => other.readMetrics()));
    return [...replies.filter((reply) => reply !== null), ...families];
  }
}

function isAborted({ signal }: AbortController): boolean {
  return signal.aborted;
}
