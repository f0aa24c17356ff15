import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { backOff } from './back-off.js';
import { giveInput } from './child-input.js';
import { type MessageHandlers, Messenger } from './messenger.js';

/** Milliseconds after which a process counts as started well, so that the next pause is short again. */
const WELL_AFTER_MS = 60_000;
/**
 * Milliseconds that a process may take to end. Requests take at most 12 seconds to be answered (src/http/lifecycle.ts), and the
 * connections to the database, or an exporter of traces that nothing answers, another ten.
 */
const LONGEST_END_MS = 25_000;

/** Milliseconds between two requests that show whether the event loop of a process runs. */
const PING_MS = 10_000;
/** A process that leaves so many of them unanswered hangs. One is lost when a machine was suspended. */
const MOST_UNANSWERED = 3;

interface Supervision {
  readonly spawn: () => ChildProcess;
  readonly handlers: MessageHandlers;
  /** What each process reads at its start: see readInput. */
  readonly input?: Buffer;
  /**
   * Called when the process ended without `stop`.
   * @param pause milliseconds until it starts again
   * @param code its exit code; null after a signal
   */
  readonly onFault: (reason: string, pause: number, code: number | null) => void;
}

/**
 * A child process that starts again when it ends, after a pause that grows with each failure. It is killed when it has
 * answered before and no longer does.
 */
export class SupervisedProcess {
  private child: ChildProcess | null = null;
  private messenger: Messenger | null = null;
  private isStopped = false;
  private failures = 0;
  private restart: NodeJS.Timeout | null = null;
  private watch: NodeJS.Timeout | null = null;
  private hangs = false;

  constructor(private readonly supervision: Supervision) {}

  start(): void {
    this.restart = null;
    const begun = performance.now();
    const child = this.supervision.spawn();
    this.child = child;
    const { handlers, input } = this.supervision;
    this.messenger = new Messenger(child, handlers);
    // A process that could not be spawned may have no streams.
    child.once('spawn', () => {
      if (input !== undefined) giveInput(child, input);
    });
    // The failure to spawn need not be followed by an end.
    child.once('error', (error) => {
      if (child.pid === undefined) this.noteEnd(error.message, 0, null);
    });
    // Unlike `exit`, `close` follows the last message. It can also follow the failure to spawn.
    child.once('close', (code, signal) => {
      if (this.child !== child) return;
      const reason = this.hangs ? 'it did not answer' : (signal ?? `exit code ${String(code)}`);
      this.noteEnd(reason, performance.now() - begun, code);
    });
    this.watchAnswers(child);
  }

  /** A process that loads its modules has not answered yet, which may take any time. */
  private watchAnswers(child: ChildProcess): void {
    let unanswered: number | null = null;
    this.watch = setInterval(() => {
      if (unanswered === MOST_UNANSWERED) {
        this.hangs = true;
        child.kill('SIGKILL');
        return;
      }
      if (unanswered !== null) unanswered++;
      // The reply to a kind that has no handler is null.
      void this.ask('ping').then(() => {
        unanswered = 0;
      });
    }, PING_MS);
  }

  private endWatch(): void {
    if (this.watch !== null) clearInterval(this.watch);
    this.watch = null;
    this.hangs = false;
  }

  notify(kind: string, value?: unknown): void {
    void this.messenger?.notify(kind, value);
  }

  /** The reply to a request; null if the process does not run. */
  ask(kind: string, value?: unknown): Promise<unknown> {
    return this.messenger?.ask(kind, value) ?? Promise.resolve(null);
  }

  /**
   * Ends the process for good. It is killed if it does not end in time: it may be paused, or never return to its event loop.
   * @param request asks the process to end
   */
  async stop(request = (child: ChildProcess) => void child.kill('SIGTERM')): Promise<void> {
    this.isStopped = true;
    this.endWatch();
    if (this.restart !== null) clearTimeout(this.restart);
    const { child } = this;
    if (child === null) return;
    const ended = once(child, 'close');
    const killing = setTimeout(() => child.kill('SIGKILL'), LONGEST_END_MS);
    request(child);
    await ended;
    clearTimeout(killing);
  }

  private noteEnd(reason: string, milliseconds: number, code: number | null): void {
    this.child = null;
    this.messenger = null;
    this.endWatch();
    if (this.isStopped) return;
    this.failures = milliseconds >= WELL_AFTER_MS ? 1 : this.failures + 1;
    const pause = this.failures === 1 ? 0 : backOff(this.failures, Math.random());
    this.supervision.onFault(reason, pause, code);
    // It may have been stopped meanwhile.
    if (this.isEnding()) return;
    this.restart = setTimeout(() => {
      this.start();
    }, pause);
  }

  private isEnding(): boolean {
    return this.isStopped;
  }
}
