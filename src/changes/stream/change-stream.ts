import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Principal } from '../../auth/principal.js';
import type { Viewer } from '../../database/visibility/viewer.js';
import type { LogPosition, PartFilter } from '../change-log.js';
import type { PartEvents } from './change-events.js';

/** Bytes that may wait for a slow reader. */
const MOST_UNSENT = 1_000_000;
/** Milliseconds after which a client connects again: different ones, so that clients do not come back together. */
const RETRY_MS = 1000;
const RETRY_SPREAD_MS = 4000;
/** Milliseconds after its end for which a client can read what was sent. */
const END_MS = 5000;

/** What a client has asked for. */
export interface StreamRequest {
  readonly principal: Principal;
  readonly viewer: Viewer;
  readonly filter: PartFilter;
  /** Its token is verified again while the stream is open. */
  readonly request: IncomingMessage;
  readonly address: string;
}

/** The open stream of one client. */
export class ChangeStream {
  /** Equal for viewers who see the same changes, where rules or limits apply. */
  readonly audience: string;
  /** When the token was verified last: milliseconds of `performance.now()`. */
  verifiedAt = performance.now();
  private sentCursor: string;

  /** @param position everything up to here was sent or is not selected */
  constructor(
    readonly asked: StreamRequest,
    public position: LogPosition,
    private readonly response: ServerResponse,
  ) {
    const { id, seesHidden, limitedTo } = asked.viewer;
    this.audience = JSON.stringify([seesHidden, seesHidden ? null : id, limitedTo]);
    this.sentCursor = position.cursor;
    const retry = Math.round(RETRY_MS + Math.random() * RETRY_SPREAD_MS);
    this.write(`retry: ${retry}\nid: ${position.cursor}\n\n`);
  }

  get isOpen(): boolean {
    return !this.response.destroyed && !this.response.writableEnded;
  }

  /** Sends what is selected. Returns the number of changes of users among it. */
  send(events: PartEvents): number {
    if (!this.isOpen) return 0;
    const { bytes, users, cursor } = events.select(this.asked.filter);
    this.position = events.part.end;
    if (bytes.length === 0) return 0;
    this.sentCursor = cursor ?? this.sentCursor;
    this.write(bytes);
    return users;
  }

  /** Sends a comment, and the position if it was reached without an event: resuming from it skips nothing. */
  beat(): void {
    const { cursor } = this.position;
    this.write(cursor === this.sentCursor ? ':\n\n' : `:\nid: ${cursor}\n\n`);
    this.sentCursor = cursor;
  }

  /** Resolves when the client has read what was sent, or is gone. */
  async flushed(): Promise<void> {
    const { response } = this;
    if (!this.isOpen || !response.writableNeedDrain) return;
    await new Promise<void>((resolve) => {
      const settle = () => {
        response.off('drain', settle).off('close', settle);
        resolve();
      };
      response.on('drain', settle).on('close', settle);
    });
  }

  /** Closes the connection soon also if the client does not read: until then, the stream has a place. */
  end(): void {
    const { response } = this;
    if (!this.isOpen) return;
    response.end();
    setTimeout(() => response.destroy(), END_MS).unref();
  }

  private write(bytes: string | Buffer): void {
    if (!this.isOpen) return;
    this.response.write(bytes);
    // The client connects again, and resumes at its own pace.
    if (this.response.writableLength > MOST_UNSENT) this.response.destroy();
  }
}
