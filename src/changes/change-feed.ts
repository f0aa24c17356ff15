import { randomInt } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { Injectable } from '@nestjs/common';
import { LRUCache } from 'lru-cache';
import pLimit from 'p-limit';
import { AccessLog } from '../access-log/access-log.js';
import { OAuthGuard } from '../auth/oauth.guard.js';
import { grantedScopes, type Principal } from '../auth/principal.js';
import { ServiceUnavailableError } from '../common/errors.js';
import { Revisions } from '../database/revisions.js';
import { OUTSIDER, type Viewer } from '../database/visibility/viewer.js';
import { ChangeLog, type LogFilter } from './change-log.js';
import { accessOf, describeChange } from './change.model.js';

/** Parts that are read at the same time, and that are kept for further streams: each has up to 300 kB. */
const MAX_READS = 4;
const MAX_PARTS = 20;
/** Milliseconds between two comments in a stream, and between two verifications of its token. */
const INTERVAL_MS = 15_000;

interface StreamRequest {
  readonly principal: Principal;
  readonly viewer: Viewer;
  readonly filter: LogFilter;
  /** Its token is verified again while the stream is open. */
  readonly request: IncomingMessage;
  readonly address: string;
}

type Asked = readonly [after: string, filter: LogFilter, viewer: Viewer];
/** A part of the log as server-sent events (HTML standard, §9.2). Many streams share it. */
type PartEvents = Awaited<ReturnType<ChangeFeed['readPart']>>;

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
  private readonly reads = pLimit(MAX_READS);
  /** What was read as of the present revision. Who has asked before the next one still gets it. */
  private readonly parts = new LRUCache<string, PartEvents, Asked>({
    max: MAX_PARTS,
    ignoreFetchAbort: true,
    fetchMethod: (_key, _stale, { context }) => this.reads(() => this.readPart(...context)),
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
   * the position, which is later than the last event if changes were not selected: it does not expire.
   * @throws ServiceError, after which a client learns the reason when it connects again
   */
  async *follow(
    asked: StreamRequest,
    start: string,
    first: PartEvents,
  ): AsyncGenerator<Buffer | string, void, undefined> {
    let position = start;
    let part: PartEvents | null = first;
    /** How much news there was before the log was read. */
    let seen: number | null = null;
    let verifiedAt = performance.now();
    // After different times, so that clients do not come back together.
    yield `retry: ${randomInt(1000, 5000)}\nid: ${position}\n\n`;
    while (!this.isEnding && !asked.request.socket.destroyed) {
      if (part !== null) {
        position = part.end;
        if (part.users > 0) this.accessLog.note(asked.principal, accessOf(part.users));
        if (part.bytes.length > 0) yield part.bytes;
      }
      if (performance.now() - verifiedAt >= INTERVAL_MS) {
        if (!(await this.isAccepted(asked))) return;
        verifiedAt = performance.now();
        yield `:\nid: ${position}\n\n`;
      }
      if (part?.hasMore === true || seen !== this.log.news) {
        seen = this.log.news;
        part = await this.read(position, asked.filter, asked.viewer);
      } else {
        part = null;
        await this.log.pause(Math.max(0, verifiedAt + INTERVAL_MS - performance.now()), seen);
      }
    }
  }

  /** @throws ServiceError CHANGE_CURSOR_EXPIRED; INVALID_CURSOR if the cursor is not of this database */
  async read(after: string, filter: LogFilter, viewer: Viewer): Promise<PartEvents> {
    const isEveryone = viewer.limitedTo === null && !this.revisions.hides;
    const asked: Asked = [after, filter, isEveryone ? OUTSIDER : viewer];
    const part = await this.parts.fetch(JSON.stringify(asked), { context: asked });
    if (part !== undefined && !(isEveryone && part.isPersonal)) return part;
    throw new ServiceUnavailableError('Something is hidden since. The viewers do not see the same any more');
  }

  private async readPart(after: string, filter: LogFilter, viewer: Viewer) {
    const { edges, ...part } = await this.log.readAfter(after, filter, viewer);
    const texts = edges.map(
      ({ node, cursor }) =>
        `id: ${cursor}\nevent: ${node.kind}\ndata: ${JSON.stringify(describeChange(node))}\n\n`,
    );
    const users = edges.filter(({ node }) => node.userId !== null).length;
    return { ...part, bytes: Buffer.from(texts.join('')), users };
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
  return JSON.stringify([countedAs, subject, grantedScopes(principal), limitedTo]);
}
