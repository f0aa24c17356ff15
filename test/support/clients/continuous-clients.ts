import { Agent } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { type HttpAnswer, type HttpRequest, type Listening, send } from './http.js';

/** A failed request; times are those of performance.now(). */
export interface FailedRequest {
  readonly begun: number;
  readonly ended: number;
  /** A status and the beginning of the body, or the code of the error. */
  readonly what: string;
}

export interface MonotonicReaderOptions {
  readonly count: number;
  readonly request: HttpRequest;
  /** Milliseconds between a response and the next request. */
  readonly pause?: number;
  /** Whether clients stop when a connection is refused, because the service has ended. */
  readonly untilRefused?: boolean;
  readonly onAnswer?: (answer: HttpAnswer, begun: number) => void;
}

/** Clients that send requests continuously, each on a kept connection, and record failures. */
export class ContinuousClients {
  answered = 0;
  readonly failures: FailedRequest[] = [];
  private isEnding = false;
  private readonly all: Promise<unknown>;

  constructor(
    private readonly to: Listening,
    private readonly options: MonotonicReaderOptions,
  ) {
    this.all = Promise.all(Array.from({ length: options.count }, () => this.sendContinuously()));
  }

  /** Sends no new requests, and waits for pending responses. */
  async end(): Promise<void> {
    this.isEnding = true;
    await this.all;
  }

  /** Waits until this many requests have been answered in total. */
  async untilAnswered(count: number): Promise<void> {
    while (this.answered < count && !this.isEnding) await sleep(10);
  }

  /** Waits until all clients have stopped. */
  async untilRefused(): Promise<void> {
    await this.all;
  }

  private async sendContinuously(): Promise<void> {
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    while (!this.isEnding) {
      if (!(await this.sendRequest(agent)) && this.options.untilRefused === true) break;
      await sleep(this.options.pause ?? 0);
    }
    agent.destroy();
  }

  /** @returns whether the connection was accepted */
  private async sendRequest(agent: Agent): Promise<boolean> {
    const begun = performance.now();
    try {
      const answer = await send(this.to, { ...this.options.request, agent });
      if (answer.status === 200) this.answered++;
      else this.fail(begun, `${answer.status} ${answer.body.slice(0, 300)}`);
      this.options.onAnswer?.(answer, begun);
      return true;
    } catch (error) {
      const { code = 'unknown' } = error as { code?: string };
      if (code === 'ECONNREFUSED' && this.options.untilRefused === true) return false;
      this.fail(begun, code);
      return true;
    }
  }

  private fail(begun: number, what: string): void {
    this.failures.push({ begun, ended: performance.now(), what });
  }
}
