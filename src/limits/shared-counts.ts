import { createHash } from 'node:crypto';
import type { RedisConfig } from '../config/config.js';
import type { Count, Taking } from './limit.js';
import { RedisLink } from './redis-link.js';
import { TAKE_SCRIPT, TAKE_SCRIPT_SHA1 } from './take.script.js';

/** Bytes of a hash that stand for who is counted: enough that no two are ever taken for one. */
const HASH_BYTES = 16;

/** Counts that all processes of an installation share, in Redis. */
export class SharedCounts {
  private readonly link: RedisLink;

  constructor(private readonly config: RedisConfig) {
    this.link = new RedisLink(config, { source: TAKE_SCRIPT, sha1: TAKE_SCRIPT_SHA1 }, () => this.probe());
  }

  /** Whether Redis is asked at the moment. */
  get isInUse(): boolean {
    return this.link.isUp;
  }

  /** Looks once whether Redis is there, and from then on keeps at it. */
  start(): Promise<void> {
    return this.link.start();
  }

  /**
   * Looks once whether Redis could be used.
   * @returns why not; null: it could
   */
  examine(): Promise<string | null> {
    return this.link.examine();
  }

  stop(): void {
    this.link.stop();
  }

  /**
   * As Limits.take(), in one round trip.
   * @returns null while Redis is away; rejects when it goes away meanwhile
   */
  take(takings: readonly Taking[]): Promise<readonly Count[]> | null {
    const keys = takings.map(({ limit, subject }) => this.keyOf(limit.name, subject));
    const values = takings.flatMap(({ limit, amount }) => [amount, limit.amount, limit.window * 1000]);
    return this.link.run(keys, values.map(String))?.then((reply) => readCounts(reply as number[])) ?? null;
  }

  /** Writing has to work too: a full Redis and a replica answer whoever only asks. */
  private probe(): [keys: string[], values: string[]] {
    return [[this.keyOf('probe', '')], ['1', '1000000', '1000']];
  }

  /** Says of nobody who it is: Redis may have other readers. */
  private keyOf(name: string, subject: string): string {
    const hash = createHash('sha256').update(`${this.config.prefix}\n${subject}`).digest();
    return `${this.config.prefix}:${name}:${hash.subarray(0, HASH_BYTES).toString('base64url')}`;
  }
}

function readCounts(reply: readonly number[]): Count[] {
  const now = performance.now();
  return Array.from({ length: reply.length / 3 }, (_, index) => ({
    isTaken: reply[3 * index] === 1,
    taken: reply[3 * index + 1] ?? 0,
    until: now + (reply[3 * index + 2] ?? 0),
  }));
}
