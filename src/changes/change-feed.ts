import type { IncomingMessage } from 'node:http';
import { setImmediate as turn, setTimeout as sleep } from 'node:timers/promises';
import { Injectable, Logger } from '@nestjs/common';
import { LRUCache } from 'lru-cache';
import pLimit from 'p-limit';
import { AccessLog } from '../access-log/access-log.js';
import { nameOfScopes } from '../auth/access.js';
import { OAuthGuard } from '../auth/oauth.guard.js';
import type { Principal } from '../auth/principal.js';
import { CLOCK_TOLERANCE } from '../auth/tokens/claims.js';
import { ServiceError, ServiceUnavailableError } from '../common/errors.js';
import { Revisions } from '../database/revisions.js';
import { OUTSIDER, type Viewer } from '../database/visibility/viewer.js';
import { ChangeLog, type LogPart, type LogPosition, type PartFilter } from './change-log.js';
import { accessOf, describeChange } from './change.model.js';

/** Changes that one statement reads. */
export const PART_SIZE = 200;
/** Parts that are read at the same time, and that are kept for further streams: each has up to 300 kB. */
const MAX_READS = 4;
const MAX_PARTS = 20;
/** Streams that are written in one turn of the event loop. */
const STREAMS_PER_TURN = 250;
/** Milliseconds until the log is read again after the database was unavailable. */
const RETRY_MS = 1000;
/** Milliseconds after which a client connects again: different ones, so that clients do not come back together. */
const RECONNECT_MS = 1000;
const RECONNECT_SPREAD_MS = 4000;
/** Milliseconds between two comments in a stream, and between two verifications of its token. */
const INTERVAL_MS = 15_000;
/** Milliseconds for which a token is accepted that cannot be verified, because the identity provider does not answer. */
const MAX_UNVERIFIED_MS = 600_000;

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
class PartEvents {
  private readonly events;
  private readonly all: Buffer;

  constructor(readonly part: LogPart) {
    this.events = part.changes.map(({ change, cursor }) => {
      const data = JSON.stringify(describeChange(change));
      return { change, cursor, text: `id: ${cursor}\nevent: ${change.kind}\ndata: ${data}\n\n` };
    });
    this.all = Buffer.from(this.events.map(({ text }) => text).join(''));
  }

  /** The events that a filter selects, the cursor of the last one, and the number of users in them. */
  select({ kinds, groupKey = null }: PartFilter): { bytes: Buffer; cursor: string | null; users: number } {
    const selected = this.events.filter(
      ({ change }) =>
        (!kinds || kinds.includes(change.kind)) && (groupKey === null || change.groupKey === groupKey),
    );
    const isAll = selected.length === this.events.length;
    return {
      bytes: isAll ? this.all : Buffer.from(selected.map(({ text }) => text).join('')),
      cursor: selected.at(-1)?.cursor ?? null,
      users: selected.filter(({ change }) => change.userId !== null).length,
    };
  }
}

/** How far one client is. */
export class ChangeStream {
  isOver = false;
  /** Whether everything up to some time was sent: then it shares what it reads with all others. */
  isLive: boolean;
  /** Milliseconds of `performance.now()`: when the last comment was sent, and when the token was verified last. */
  commentedAt = performance.now();
  verifiedAt = this.commentedAt;
  private news = new AbortController();

  /**
   * @param position everything up to here was sent or is not selected
   * @param first what follows it, if it was read already
   */
  constructor(
    readonly asked: StreamRequest,
    public position: LogPosition,
    readonly first: LogPart | null,
  ) {
    this.isLive = first === null;
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
 * for each revision and audience.
 */
@Injectable()
export class ChangeFeed {
  private readonly logger = new Logger('Changes');
  private readonly streams = new Set<ChangeStream>();
  private readonly reads = pLimit(MAX_READS);
  /** What was read as of the present revision. */
  private readonly parts = new LRUCache<string, Promise<PartEvents>>({ max: MAX_PARTS });
  private paced = 0;
  private turns = Promise.resolve();

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
      let { cursor: sentCursor } = stream.position;
      const retry = Math.round(RECONNECT_MS + Math.random() * RECONNECT_SPREAD_MS);
      yield `retry: ${retry}\nid: ${sentCursor}\n\n`;
      let events = stream.first === null ? null : new PartEvents(stream.first);
      while (!stream.isOver) {
        if (events !== null) {
          await this.pace();
          const { bytes, cursor, users } = events.select(stream.asked.filter);
          stream.position = events.part.end;
          stream.isLive ||= !events.part.hasMore;
          sentCursor = cursor ?? sentCursor;
          if (users > 0) this.accessLog.note(stream.asked.principal, accessOf(users));
          if (bytes.length > 0) yield bytes;
        }
        if (performance.now() - stream.commentedAt >= INTERVAL_MS) {
          if (!(await this.isAccepted(stream))) return;
          const { cursor } = stream.position;
          const comment = cursor === sentCursor ? ':\n\n' : `:\nid: ${cursor}\n\n`;
          sentCursor = cursor;
          stream.commentedAt = performance.now();
          yield comment;
        }
        const isBehind = events?.part.hasMore === true || stream.hasNews;
        events = isBehind ? await this.readNext(stream) : await stream.pause();
      }
    } finally {
      this.streams.delete(stream);
    }
  }

  /** Thousands of streams would otherwise be written in one turn: all that need the same part wait for it. */
  private pace(): Promise<void> {
    if (this.paced++ % STREAMS_PER_TURN === 0) this.turns = this.turns.then(() => turn());
    return this.turns;
  }

  /** Null: it has to be read again, or the stream ends. A client whose cursor is lost learns it when it connects again. */
  private async readNext(stream: ChangeStream): Promise<PartEvents | null> {
    stream.forgetNews();
    const { filter, viewer } = stream.asked;
    const isEveryone = viewer.limitedTo === null && !this.log.isPersonal;
    try {
      const events = await this.readPart(
        stream.position,
        stream.isLive ? {} : filter,
        isEveryone ? OUTSIDER : viewer,
        isEveryone ? 'everyone' : audienceOf(viewer),
      );
      // Something is hidden since. The viewers do not see the same any more.
      if (!isEveryone || !events.part.isPersonal) return events;
    } catch (error) {
      if (error instanceof ServiceError && ['SERVICE_UNAVAILABLE', 'TIMEOUT'].includes(error.code))
        await sleep(RETRY_MS, undefined, { ref: false });
      else stream.end();
    }
    stream.wake();
    return null;
  }

  private readPart(
    { number, cursor }: LogPosition,
    filter: PartFilter,
    viewer: Viewer,
    audience: string,
  ): Promise<PartEvents> {
    const key = JSON.stringify([number, audience, filter]);
    const known = this.parts.get(key);
    if (known !== undefined) return known;
    const read = this.reads(async () => {
      return new PartEvents(await this.log.readAfter(cursor, PART_SIZE, filter, viewer));
    });
    this.parts.set(key, read);
    read.catch((error: unknown) => {
      if (this.parts.get(key) === read) this.parts.delete(key);
      if (!(error instanceof ServiceError))
        this.logger.error(`Streams end: ${error instanceof Error ? (error.stack ?? error.message) : ''}`);
    });
    return read;
  }

  /** Whether the token of a stream is still accepted, with the same rights. */
  private async isAccepted(stream: ChangeStream): Promise<boolean> {
    const { request, address, principal } = stream.asked;
    const { expiresAt } = principal;
    // The provider, which may be away, is not needed for this.
    if (expiresAt !== null && expiresAt.getTime() + CLOCK_TOLERANCE * 1000 <= Date.now()) return false;
    try {
      const now = await this.guard.authenticate(request, address);
      stream.verifiedAt = performance.now();
      return now !== null && rightsOf(now) === rightsOf(principal);
    } catch (error) {
      const isLate = performance.now() - stream.verifiedAt > MAX_UNVERIFIED_MS;
      return error instanceof ServiceUnavailableError && !isLate;
    }
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
