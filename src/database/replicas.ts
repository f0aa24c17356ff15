import type { OnApplicationShutdown, OnModuleInit } from '@nestjs/common';
import type { Config } from '../config/config.js';
import { Replica } from './replica.js';
import { revisionOf } from './revision-reader.js';
import type { Statement } from './statement.js';

/**
 * The read replicas, and which of them has what is to be read. A replica is always a little behind: it is asked for nothing
 * that it does not have yet, so that nobody who has seen a revision sees an older one (docs/adr/0021).
 */
export class Replicas implements OnModuleInit, OnApplicationShutdown {
  private readonly stopping = new AbortController();
  private watching: Promise<unknown> = Promise.resolve();
  /** The newest revision that is known to this process; null: none yet, and then the primary knows best. */
  private needed: number | null = null;
  private turn = 0;

  constructor(private readonly all: readonly Replica[]) {}

  /** Null where there are none. */
  static of(database: Config['database']): Replicas | null {
    if (database.kind === 'pglite' || database.replicaUrls.length === 0) return null;
    return new Replicas(database.replicaUrls.map((url) => new Replica(url, database.poolSize)));
  }

  onModuleInit(): void {
    this.watching = Promise.all(this.all.map((replica) => replica.watch(this.stopping.signal)));
  }

  /** Until here requests are answered. */
  async onApplicationShutdown(): Promise<void> {
    this.stopping.abort();
    await this.watching;
    await Promise.all(this.all.map((replica) => replica.close()));
  }

  /** How many there are, and how many of them are asked at this moment. */
  get count(): { readonly all: number; readonly current: number } {
    const { needed } = this;
    const current = needed === null ? 0 : this.all.filter((replica) => replica.has(needed)).length;
    return { all: this.all.length, current };
  }

  /** Each of them, and the newest revision that is known. */
  get standing(): { readonly needed: number | null; readonly each: readonly Replica['standing'][] } {
    return { needed: this.needed, each: this.all.map(({ standing }) => standing) };
  }

  /** From here on nothing older is read. */
  need(revision: number): void {
    if (this.needed === null || revision > this.needed) this.needed = revision;
  }

  /**
   * Runs a statement that tells its revision on one of them, in turns.
   * @returns null when the primary is to be asked: none has what is needed, or the answer does not show that it is of it
   * @throws ServiceError TIMEOUT when it takes too long
   */
  async read<Row extends unknown[]>(statement: Statement, values: readonly unknown[]): Promise<Row[] | null> {
    const replica = this.choose();
    if (replica === null) return null;
    const rows = await replica.read<Row>(statement, values);
    // Without a row there is no revision: that something is not there is only believed of the primary.
    const revision = rows === null ? null : revisionOf(statement, rows);
    return revision === null || this.needed === null || revision < this.needed ? null : rows;
  }

  private choose(): Replica | null {
    const { needed, all } = this;
    if (needed === null) return null;
    for (let tried = 0; tried < all.length; tried++) {
      this.turn = (this.turn + 1) % all.length;
      const replica = all[this.turn];
      if (replica?.has(needed) === true) return replica;
    }
    return null;
  }
}
