import { setImmediate as turn, setTimeout as sleep } from 'node:timers/promises';
import { Injectable, Logger } from '@nestjs/common';
import pLimit from 'p-limit';
import { AccessLog } from '../../access-log/access-log.js';
import type { PersonalDataAccess } from '../../access-log/personal-data.decorator.js';
import { ServiceError } from '../../common/errors.js';
import { Revisions } from '../../database/revisions.js';
import { OUTSIDER, type Viewer } from '../../database/visibility/viewer.js';
import { ChangeLog, type LogPart, type LogPosition } from '../change-log.js';
import { PartEvents } from './change-events.js';
import type { ChangeStream } from './change-stream.js';
import { StreamWatch } from './stream-watch.js';

/** Changes that one statement reads. */
export const PART_SIZE = 200;
/** Parts that are read at the same time. */
const MAX_READS = 4;
/** Streams that are written in one turn of the event loop. */
const STREAMS_PER_TURN = 250;
/** Milliseconds until the log is read again after the database was unavailable. */
const RETRY_MS = 1000;

/** The streams that receive the same next part of the log. */
interface Audience {
  readonly position: LogPosition;
  readonly viewer: Viewer;
  /** Whether its viewers see the same only because nothing is hidden. */
  readonly isEveryone: boolean;
  readonly streams: ChangeStream[];
}

/**
 * Sends new changes to all streams of this process (docs/adr/0046). The log is read once for each revision and audience,
 * however many streams there are.
 */
@Injectable()
export class ChangeFeed {
  private readonly logger = new Logger('Changes');
  /** All streams, each with the function that ends its watch. */
  private readonly streams = new Map<ChangeStream, () => void>();
  /** Those that have everything up to now. */
  private readonly live = new Set<ChangeStream>();
  private readonly reads = pLimit(MAX_READS);
  private isAdvancing = false;
  private isDue = false;

  constructor(
    private readonly log: ChangeLog,
    private readonly revisions: Revisions,
    private readonly accessLog: AccessLog,
    private readonly watch: StreamWatch,
  ) {
    revisions.onChanged(() => {
      this.advance();
    });
  }

  /** Sends the first part and what follows it, at the pace of the client, and then each change as it comes. */
  async follow(stream: ChangeStream, first: LogPart | null): Promise<void> {
    this.streams.set(stream, this.watch.add(stream));
    for (let part = first; part !== null && stream.isOpen;) {
      this.send(stream, new PartEvents(part));
      await stream.flushed();
      part = part.hasMore ? await this.readNext(stream) : null;
    }
    if (!stream.isOpen) return;
    this.live.add(stream);
    if (!this.isComplete(stream)) this.advance();
  }

  remove(stream: ChangeStream): void {
    this.live.delete(stream);
    this.streams.get(stream)?.();
    this.streams.delete(stream);
  }

  endAll(): void {
    for (const stream of this.streams.keys()) stream.end();
  }

  /** Null if the stream has ended. While the database is away, it waits: among the live ones it would hold them up. */
  private async readNext(stream: ChangeStream): Promise<LogPart | null> {
    const { filter, viewer } = stream.asked;
    while (stream.isOpen) {
      const { cursor } = stream.position;
      try {
        return await this.reads(() => this.log.readAfter(cursor, PART_SIZE, filter, viewer));
      } catch (error) {
        if (isTemporary(error)) await sleep(RETRY_MS, undefined, { ref: false });
        else this.endAfter(error, [stream]);
      }
    }
    return null;
  }

  private advance(): void {
    this.isDue = true;
    if (!this.isAdvancing) void this.advanceAll();
  }

  private async advanceAll(): Promise<void> {
    this.isAdvancing = true;
    while (this.isDue && this.live.size > 0) {
      this.isDue = false;
      await Promise.all(this.audiences().map((audience) => this.reads(() => this.serve(audience))));
    }
    this.isAdvancing = false;
  }

  /** All streams are at the end of the log most of the time, and those that are not join them there. */
  private audiences(): Audience[] {
    const audiences = new Map<string, Audience>();
    for (const stream of this.live) {
      if (!stream.isOpen || this.isComplete(stream)) continue;
      const { viewer } = stream.asked;
      const isEveryone = viewer.limitedTo === null && !this.log.isPersonal;
      const { position } = stream;
      const key = `${position.number} ${isEveryone ? '' : stream.audience}`;
      const audience = audiences.get(key);
      if (audience !== undefined) audience.streams.push(stream);
      else
        audiences.set(key, {
          position,
          isEveryone,
          viewer: isEveryone ? OUTSIDER : viewer,
          streams: [stream],
        });
    }
    return [...audiences.values()];
  }

  private isComplete({ position: { completeAt } }: ChangeStream): boolean {
    return completeAt !== null && completeAt === this.revisions.current?.id;
  }

  private async serve({ position, viewer, isEveryone, streams }: Audience): Promise<void> {
    try {
      for (let { cursor } = position, hasMore = true; hasMore && streams.some(({ isOpen }) => isOpen);) {
        const part = await this.log.readAfter(cursor, PART_SIZE, {}, viewer);
        // Something is hidden since. The viewers do not see the same any more.
        if (isEveryone && part.isPersonal) {
          this.isDue = true;
          return;
        }
        await this.sendAll(streams, new PartEvents(part));
        ({
          hasMore,
          end: { cursor },
        } = part);
        if (!hasMore && part.end.completeAt === null) this.isDue = true;
      }
    } catch (error) {
      this.endAfter(error, streams);
    }
  }

  private async sendAll(streams: readonly ChangeStream[], events: PartEvents): Promise<void> {
    for (let index = 0; index < streams.length; index += STREAMS_PER_TURN) {
      if (index > 0) await turn();
      for (const stream of streams.slice(index, index + STREAMS_PER_TURN)) this.send(stream, events);
    }
  }

  private send(stream: ChangeStream, events: PartEvents): void {
    const users = stream.send(events);
    if (users > 0) this.accessLog.note(stream.asked.principal, accessOf(users));
  }

  /** A client whose cursor is lost learns it when it connects again. */
  private endAfter(error: unknown, streams: readonly ChangeStream[]): void {
    if (isTemporary(error)) {
      setTimeout(() => {
        this.advance();
      }, RETRY_MS).unref();
      return;
    }
    if (!(error instanceof ServiceError))
      this.logger.error(`Streams end: ${error instanceof Error ? (error.stack ?? error.message) : ''}`);
    for (const stream of streams) stream.end();
  }
}

function isTemporary(error: unknown): boolean {
  return error instanceof ServiceError && ['SERVICE_UNAVAILABLE', 'TIMEOUT'].includes(error.code);
}

const FIELDS = ['Change.userId', 'Change.userNodeId'];
/** By the number of changes of users in a part: at most PART_SIZE entries, however many clients there are. */
const accesses = new Map<number, PersonalDataAccess>();

/** The same object for the same number, as the access log counts fastest. */
function accessOf(users: number): PersonalDataAccess {
  let access = accesses.get(users);
  if (access === undefined) {
    access = { fields: FIELDS, users: [users, users] };
    accesses.set(users, access);
  }
  return access;
}
