import { randomInt } from 'node:crypto';
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
import { ChangeLog, type LogFilter } from './change-log.js';
import { accessOf, describeChange } from './change.model.js';

/** Changes that one statement reads. */
const PART_SIZE = 200;
/** Parts that are read at the same time, and that are kept for further streams: each has up to 300 kB. */
const MAX_READS = 4;
const MAX_PARTS = 20;
/** Milliseconds until the log is read again after the database was unavailable. */
const RETRY_MS = 1000;
/** Milliseconds between two comments in a stream, and between two verifications of its token. */
const INTERVAL_MS = 15_000;

/** What a client has asked for. */
interface StreamRequest {
  readonly principal: Principal;
  readonly viewer: Viewer;
  readonly filter: LogFilter;
  /** Its token is verified again while the stream is open. */
  readonly request: IncomingMessage;
  readonly address: string;
}

/** A part of the log as server-sent events (HTML standard, §9.2), and the cursor of the last one. Many streams share it. */
type PartEvents = Awaited<ReturnType<ChangeFeed['read']>>;
type Asked = readonly [after: string, filter: LogFilter, viewer: Viewer];

/**
 * The changes for all streams of this process (docs/adr/0046), each at the pace of its client. What several of them need is read once
 * for each revision, filter and audience.
 */
@Injectable()
export class ChangeFeed {
  /** One object for each open stream. */
  readonly places = new Set<{ readonly countedAs: string }>();
  /** Number of streams that were refused since the start. */
  rejected = 0;
  isEnding = false;
  private readonly logger = new Logger('Changes');
  private readonly reads = pLimit(MAX_READS);
  /** What was read as of the present revision. Who has asked before the next one still gets it. */
  private readonly parts = new LRUCache<string, PartEvents, Asked>({
    max: MAX_PARTS,
    ignoreFetchAbort: true,
    fetchMethod: (_key, _stale, { context }) => this.reads(() => this.read(...context)),
  });

  constructor(
    private readonly log: ChangeLog,
    private readonly revisions: Revisions,
    private readonly accessLog: AccessLog,
    private readonly guard: OAuthGuard,
  ) {
    revisions.onChanged(() => {
      this.parts.clear();
    });
  }

  endAll(): void {
    this.isEnding = true;
    this.log.wake();
  }

  /**
   * What is sent to a client: its first part, what follows it, and then each change as it comes, until the stream ends. A comment has
   * the position if it was reached without an event: resuming from it skips nothing.
   */
  async *follow(
    asked: StreamRequest,
    start: string,
    first: PartEvents,
  ): AsyncGenerator<Buffer | string, void, undefined> {
    // Everything up to `position` was sent or is not selected. The client has the cursor `sent`.
    let [position, sent] = [start, start];
    let part: PartEvents | null = first;
    /** How much news there was before the log was read. */
    let seen: number | null = null;
    let verifiedAt = performance.now();
    // After different times, so that clients do not come back together.
    yield `retry: ${randomInt(1000, 5000)}\nid: ${sent}\n\n`;
    while (!this.isEnding && !asked.request.socket.destroyed) {
      if (part !== null) {
        position = part.end;
        sent = part.last ?? sent;
        if (part.users > 0) this.accessLog.note(asked.principal, accessOf(part.users));
        if (part.bytes.length > 0) yield part.bytes;
      }
      if (performance.now() - verifiedAt >= INTERVAL_MS) {
        if (!(await this.isAccepted(asked))) return;
        const comment = position === sent ? ':\n\n' : `:\nid: ${position}\n\n`;
        sent = position;
        verifiedAt = performance.now();
        yield comment;
      }
      if (part?.hasMore === true || seen !== this.log.news) {
        seen = this.log.news;
        part = await this.readNext(position, asked);
        if (part === null) seen = null;
      } else {
        part = null;
        await this.log.pause(Math.max(0, verifiedAt + INTERVAL_MS - performance.now()), seen);
      }
    }
  }

  /**
   * Null: it has to be read again. A client whose cursor is lost learns it when it connects again.
   * @throws ServiceError, which ends the stream
   */
  private async readNext(after: string, { filter, viewer }: StreamRequest): Promise<PartEvents | null> {
    const isEveryone = viewer.limitedTo === null && !this.revisions.hides;
    const asked: Asked = [after, filter, isEveryone ? OUTSIDER : viewer];
    try {
      const part = await this.parts.fetch(JSON.stringify(asked), { context: asked });
      // Something is hidden since. The viewers do not see the same any more.
      return part === undefined || (isEveryone && part.isPersonal) ? null : part;
    } catch (error) {
      if (!(error instanceof ServiceError)) this.logger.error(error);
      if (!(error instanceof ServiceError && ['SERVICE_UNAVAILABLE', 'TIMEOUT'].includes(error.code)))
        throw error;
      await sleep(RETRY_MS, undefined, { ref: false });
      return null;
    }
  }

  /** @throws ServiceError CHANGE_CURSOR_EXPIRED; INVALID_CURSOR if the cursor is not of this database */
  async read(after: string, filter: LogFilter, viewer: Viewer) {
    const { edges, ...part } = await this.log.readAfter(after, PART_SIZE, filter, viewer);
    const texts = edges.map(
      ({ node, cursor }) =>
        `id: ${cursor}\nevent: ${node.kind}\ndata: ${JSON.stringify(describeChange(node))}\n\n`,
    );
    const users = edges.filter(({ node }) => node.userId !== null).length;
    return { ...part, bytes: Buffer.from(texts.join('')), last: edges.at(-1)?.cursor, users };
  }

  /** Whether the token of a stream is still accepted, with the same rights. A client whose token cannot be verified connects again. */
  private async isAccepted({ request, address, principal }: StreamRequest): Promise<boolean> {
    const now = await this.guard.authenticate(request, address).catch(() => null);
    return now !== null && rightsOf(now) === rightsOf(principal);
  }
}

/** For whom a token acts, and with which rights. */
function rightsOf(principal: Principal): string {
  const { countedAs, subject, limitedTo = null } = principal;
  return JSON.stringify([countedAs, subject, nameOfScopes(principal), limitedTo]);
}
