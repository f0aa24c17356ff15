import type { IncomingMessage } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { Injectable, Logger } from '@nestjs/common';
import { LRUCache } from 'lru-cache';
import pLimit from 'p-limit';
import { AccessLog } from '../access-log/access-log.js';
import { nameOfScopes } from '../auth/access.js';
import { OAuthGuard } from '../auth/oauth.guard.js';
import type { Principal } from '../auth/principal.js';
import { ServiceError } from '../common/errors.js';
import { Revisions } from '../database/revisions.js';
import { OUTSIDER, type Viewer } from '../database/visibility/viewer.js';
import { ChangeLog, type PartFilter } from './change-log.js';
import { accessOf, describeChange } from './change.model.js';

/** Changes that one statement reads. */
const PART_SIZE = 200;
/** Parts that are read at the same time, and that are kept for further streams: each has up to 300 kB. */
const MAX_READS = 4;
const MAX_PARTS = 20;
/** Milliseconds until the log is read again after the database was unavailable. */
const RETRY_MS = 1000;
/** Milliseconds after which a client connects again: different ones, so that clients do not come back together. */
const RECONNECT_MS = 1000;
const RECONNECT_SPREAD_MS = 4000;
/** Milliseconds between two comments in a stream, and between two verifications of its token. */
const INTERVAL_MS = 15_000;

/** What a client has asked for. */
interface StreamRequest {
  readonly principal: Principal;
  readonly viewer: Viewer;
  readonly filter: PartFilter;
  /** Its token is verified again while the stream is open. */
  readonly request: IncomingMessage;
  readonly address: string;
}

/** A part of the log as server-sent events (HTML standard, §9.2). Many streams share it. */
interface PartEvents {
  readonly bytes: Buffer;
  /** The cursor of the last event. */
  readonly last: string | undefined;
  readonly users: number;
  readonly end: string;
  readonly hasMore: boolean;
  readonly isPersonal: boolean;
}

/** How far one client is. */
export class ChangeStream {
  isOver = false;
  /** Milliseconds of `performance.now()`: when the last comment was sent, and the token was verified. */
  commentedAt = performance.now();
  private news = new AbortController();

  /**
   * @param position everything up to here was sent or is not selected
   * @param first what follows it
   */
  constructor(
    readonly asked: StreamRequest,
    public position: string,
    readonly first: PartEvents,
  ) {
    this.wake();
  }

  /** Whether the log may have more than what was read. */
  get hasNews(): boolean {
    return this.news.signal.aborted;
  }

  wake(): void {
    this.news.abort();
  }

  /** Has to be called before the log is read: what comes meanwhile is news again. */
  forgetNews(): void {
    this.news = new AbortController();
  }

  /** Waits for news, or until the next comment is due. */
  pause(): Promise<null> {
    const left = Math.max(0, this.commentedAt + INTERVAL_MS - performance.now());
    return sleep(left, null, { signal: this.news.signal, ref: false }).catch(() => null);
  }

  end(): void {
    this.isOver = true;
    this.wake();
  }
}

/**
 * The changes for all streams of this process (docs/adr/0046), each at the pace of its client. What several of them need is read once
 * for each revision, filter and audience.
 */
@Injectable()
export class ChangeFeed {
  private readonly logger = new Logger('Changes');
  private readonly streams = new Set<ChangeStream>();
  private readonly reads = pLimit(MAX_READS);
  /** What was read as of the present revision. */
  private readonly parts = new LRUCache<string, Promise<PartEvents>>({ max: MAX_PARTS });

  constructor(
    private readonly log: ChangeLog,
    revisions: Revisions,
    private readonly accessLog: AccessLog,
    private readonly guard: OAuthGuard,
  ) {
    revisions.onChanged(() => {
      this.parts.clear();
      for (const stream of this.streams) stream.wake();
    });
  }

  endAll(): void {
    for (const stream of this.streams) stream.end();
  }

  /**
   * What is sent to a client: its first part, what follows it, and then each change as it comes, until the stream ends. A comment has
   * the position if it was reached without an event: resuming from it skips nothing.
   */
  async *follow(stream: ChangeStream): AsyncGenerator<Buffer | string, void, undefined> {
    this.streams.add(stream);
    try {
      let sent = stream.position;
      const retry = Math.round(RECONNECT_MS + Math.random() * RECONNECT_SPREAD_MS);
      yield `retry: ${retry}\nid: ${sent}\n\n`;
      let events: PartEvents | null = stream.first;
      while (!stream.isOver) {
        if (events !== null) {
          stream.position = events.end;
          sent = events.last ?? sent;
          if (events.users > 0) this.accessLog.note(stream.asked.principal, accessOf(events.users));
          if (events.bytes.length > 0) yield events.bytes;
        }
        if (performance.now() - stream.commentedAt >= INTERVAL_MS) {
          if (!(await this.isAccepted(stream))) return;
          const comment = stream.position === sent ? ':\n\n' : `:\nid: ${stream.position}\n\n`;
          sent = stream.position;
          stream.commentedAt = performance.now();
          yield comment;
        }
        const isBehind: boolean = events?.hasMore === true || stream.hasNews;
        events = isBehind ? await this.readNext(stream) : await stream.pause();
      }
    } finally {
      this.streams.delete(stream);
    }
  }

  /** Null: it has to be read again, or the stream ends. A client whose cursor is lost learns it when it connects again. */
  private async readNext(stream: ChangeStream): Promise<PartEvents | null> {
    stream.forgetNews();
    const { filter, viewer } = stream.asked;
    const isEveryone = viewer.limitedTo === null && !this.log.isPersonal;
    try {
      const events = await this.readShared(
        stream.position,
        filter,
        isEveryone ? OUTSIDER : viewer,
        isEveryone ? 'everyone' : audienceOf(viewer),
      );
      // Something is hidden since. The viewers do not see the same any more.
      if (!isEveryone || !events.isPersonal) return events;
    } catch (error) {
      if (error instanceof ServiceError && ['SERVICE_UNAVAILABLE', 'TIMEOUT'].includes(error.code))
        await sleep(RETRY_MS, undefined, { ref: false });
      else stream.end();
    }
    stream.wake();
    return null;
  }

  /** @throws ServiceError CHANGE_CURSOR_EXPIRED; INVALID_CURSOR if the cursor is not of this database */
  async read(after: string, filter: PartFilter, viewer: Viewer): Promise<PartEvents> {
    const { changes, ...part } = await this.log.readAfter(after, PART_SIZE, filter, viewer);
    const texts = changes.map(
      ({ change, cursor }) =>
        `id: ${cursor}\nevent: ${change.kind}\ndata: ${JSON.stringify(describeChange(change))}\n\n`,
    );
    const users = changes.filter(({ change }) => change.userId !== null).length;
    return { ...part, bytes: Buffer.from(texts.join('')), last: changes.at(-1)?.cursor, users };
  }

  private readShared(
    after: string,
    filter: PartFilter,
    viewer: Viewer,
    audience: string,
  ): Promise<PartEvents> {
    const key = JSON.stringify([after, audience, filter]);
    const known = this.parts.get(key);
    if (known !== undefined) return known;
    const read = this.reads(() => this.read(after, filter, viewer));
    this.parts.set(key, read);
    read.catch((error: unknown) => {
      if (this.parts.get(key) === read) this.parts.delete(key);
      if (!(error instanceof ServiceError))
        this.logger.error(`Streams end: ${error instanceof Error ? (error.stack ?? error.message) : ''}`);
    });
    return read;
  }

  /** Whether the token of a stream is still accepted, with the same rights. A client whose token cannot be verified connects again. */
  private async isAccepted(stream: ChangeStream): Promise<boolean> {
    const { request, address, principal } = stream.asked;
    const now = await this.guard.authenticate(request, address).catch(() => null);
    return now !== null && rightsOf(now) === rightsOf(principal);
  }
}

/** Equal for viewers who see the same changes, where rules or limits apply. */
function audienceOf({ id, seesHidden, limitedTo }: Viewer): string {
  return JSON.stringify([seesHidden, seesHidden ? null : id, limitedTo]);
}

/** For whom a token acts, and with which rights. */
function rightsOf(principal: Principal): string {
  const { countedAs, subject, limitedTo = null } = principal;
  return JSON.stringify([countedAs, subject, nameOfScopes(principal), limitedTo]);
}
