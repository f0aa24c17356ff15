import type { IncomingMessage, ServerResponse } from 'node:http';
import { setImmediate as turn, setTimeout as sleep } from 'node:timers/promises';
import { Injectable, Logger } from '@nestjs/common';
import pLimit from 'p-limit';
import { AccessLog } from '../access-log/access-log.js';
import type { PersonalDataAccess } from '../access-log/personal-data.decorator.js';
import { nameOfScopes } from '../auth/access.js';
import { OAuthGuard } from '../auth/oauth.guard.js';
import type { Principal } from '../auth/principal.js';
import { CLOCK_TOLERANCE } from '../auth/tokens/claims.js';
import { ServiceError, ServiceUnavailableError } from '../common/errors.js';
import { Revisions } from '../database/revisions.js';
import { OUTSIDER, type Viewer } from '../database/visibility/viewer.js';
import { ChangeLog, type LogPart, type LogPosition, type PartFilter } from './change-log.js';
import { describeChange } from './change.model.js';

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
/** Milliseconds after its end for which a client can read what was sent. */
const END_MS = 5000;

/** By the number of users in a part: always the same object for the same number, as the access log counts fastest. */
const ACCESSES = Array.from({ length: PART_SIZE + 1 }, (_, users): PersonalDataAccess => ({
  fields: ['Change.userId', 'Change.userNodeId'],
  users: [users, users],
}));

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

/** The open stream of one client. If the client does not read, nothing is sent, and the connection is closed in time, like all others. */
export class ChangeStream {
  /** Equal for viewers who see the same changes, where rules or limits apply. */
  readonly audience: string;
  /** Whether everything up to some time was sent: then it shares what it reads with all others. */
  isLive: boolean;
  /** When the token was verified last: milliseconds of `performance.now()`. */
  verifiedAt = performance.now();
  private sentCursor: string;
  private hasNews = true;
  private onNews: (() => void) | null = null;

  /** @param position everything up to here was sent or is not selected */
  constructor(
    readonly asked: StreamRequest,
    public position: LogPosition,
    private readonly response: ServerResponse,
    first: LogPart | null,
  ) {
    const { id, seesHidden, limitedTo } = asked.viewer;
    this.audience = JSON.stringify([seesHidden, seesHidden ? null : id, limitedTo]);
    this.isLive = first === null;
    this.sentCursor = position.cursor;
    const retry = Math.round(RECONNECT_MS + Math.random() * RECONNECT_SPREAD_MS);
    response.write(`retry: ${retry}\nid: ${position.cursor}\n\n`);
  }

  get isOpen(): boolean {
    return !this.response.destroyed && !this.response.writableEnded;
  }

  /** Sends what is selected. Returns the number of users in it. */
  send(events: PartEvents): number {
    if (!this.isOpen) return 0;
    const { bytes, cursor, users } = events.select(this.asked.filter);
    this.position = events.part.end;
    if (bytes.length === 0) return 0;
    this.sentCursor = cursor ?? this.sentCursor;
    this.response.write(bytes);
    return users;
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

  /** Notes that the log may have more than what is read from now on. */
  wake(): void {
    this.hasNews = true;
    this.onNews?.();
  }

  /** Has to be called before the log is read: what comes meanwhile is news again. */
  forgetNews(): void {
    this.hasNews = false;
  }

  async untilNews(): Promise<void> {
    if (!this.hasNews) await new Promise<void>((resolve) => (this.onNews = resolve));
  }

  /** Sends a comment, and the position if it was reached without an event: resuming from it skips nothing. */
  beat(): void {
    if (!this.isOpen || this.response.writableNeedDrain) return;
    const { cursor } = this.position;
    this.response.write(cursor === this.sentCursor ? ':\n\n' : `:\nid: ${cursor}\n\n`);
    this.sentCursor = cursor;
  }

  /** Closes the connection soon also if the client does not read: until then, the stream has a place. */
  end(): void {
    if (!this.isOpen) return;
    this.response.end();
    setTimeout(() => this.response.destroy(), END_MS).unref();
  }
}

/**
 * Sends the changes to all streams of this process (docs/adr/0046), each at the pace of its client. What several of them need is
 * read once for each revision and audience.
 */
@Injectable()
export class ChangeFeed {
  private readonly logger = new Logger('Changes');
  /** All streams, each with its timer. */
  private readonly streams = new Map<ChangeStream, NodeJS.Timeout>();
  private readonly reads = pLimit(MAX_READS);
  /** What was read as of the present revision. */
  private readonly parts = new Map<string, Promise<PartEvents>>();
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
      for (const stream of this.streams.keys()) stream.wake();
    });
  }

  /** Sends the first part, what follows it, and then each change as it comes, until the stream ends. */
  async follow(stream: ChangeStream, first: LogPart | null): Promise<void> {
    const check = () => {
      stream.beat();
      void this.verify(stream);
    };
    this.streams.set(stream, setInterval(check, INTERVAL_MS).unref());
    let events = first === null ? null : new PartEvents(first);
    while (stream.isOpen) {
      if (events !== null) {
        await this.pace();
        const users = stream.send(events);
        if (users > 0) this.accessLog.note(stream.asked.principal, ACCESSES[users] as PersonalDataAccess);
        stream.isLive ||= !events.part.hasMore;
        await stream.flushed();
      }
      if (events?.part.hasMore !== true) await stream.untilNews();
      events = await this.readNext(stream);
    }
  }

  remove(stream: ChangeStream): void {
    clearInterval(this.streams.get(stream));
    this.streams.delete(stream);
    stream.wake();
  }

  endAll(): void {
    for (const stream of this.streams.keys()) stream.end();
  }

  /** Thousands of streams would otherwise be written in one turn: all that need the same part wait for it. */
  private pace(): Promise<void> {
    if (this.paced++ % STREAMS_PER_TURN === 0) this.turns = this.turns.then(() => turn());
    return this.turns;
  }

  /** Null: it has to be read again, or the stream ends. A client whose cursor is lost learns it when it connects again. */
  private async readNext(stream: ChangeStream): Promise<PartEvents | null> {
    if (!stream.isOpen) return null;
    stream.forgetNews();
    const { filter, viewer } = stream.asked;
    const isEveryone = viewer.limitedTo === null && !this.log.isPersonal;
    const audience = isEveryone ? 'everyone' : stream.audience;
    try {
      const asked = stream.isLive ? {} : filter;
      const events = await this.readPart(stream.position, asked, isEveryone ? OUTSIDER : viewer, audience);
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
    if (this.parts.size === MAX_PARTS) this.parts.clear();
    this.parts.set(key, read);
    read.catch((error: unknown) => {
      if (this.parts.get(key) === read) this.parts.delete(key);
      if (!(error instanceof ServiceError))
        this.logger.error(`Streams end: ${error instanceof Error ? (error.stack ?? error.message) : ''}`);
    });
    return read;
  }

  /** Ends a stream whose token is not accepted any more, or has other rights. */
  private async verify(stream: ChangeStream): Promise<void> {
    const { request, address, principal } = stream.asked;
    const { expiresAt } = principal;
    // The provider, which may be away, is not needed for this.
    if (expiresAt !== null && expiresAt.getTime() + CLOCK_TOLERANCE * 1000 <= Date.now()) {
      stream.end();
      return;
    }
    try {
      const now = await this.guard.authenticate(request, address);
      if (now === null || rightsOf(now) !== rightsOf(principal)) stream.end();
      stream.verifiedAt = performance.now();
    } catch (error) {
      const isLate = performance.now() - stream.verifiedAt > MAX_UNVERIFIED_MS;
      if (!(error instanceof ServiceUnavailableError) || isLate) stream.end();
    }
  }
}

/** For whom a token acts, and with which rights. */
function rightsOf(principal: Principal): string {
  const { countedAs, subject, limitedTo = null } = principal;
  return JSON.stringify([countedAs, subject, nameOfScopes(principal), limitedTo]);
}
