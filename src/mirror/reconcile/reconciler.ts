import type { LdapConnection } from '../../ldap/client/ldap-connection.js';
import { chooseServer } from '../../sources/ldap/follow-mode.js';
import { parsePosition } from '../../sources/ldap/position.js';
import type { FollowDependencies } from '../follow/follow-dependencies.js';
import { readReconciliations, type ReconciliationKind, writeReconciliations } from './reconciliations.js';
import { type Depth, Scan, type ScanResult } from './scan.js';
import { countStored } from '../plan/stored-counts.js';

/** Milliseconds between two checks whether a scan has ended. */
const POLL_INTERVAL_MS = 500;
/** Milliseconds until another attempt to find a current server, after one that was behind responded. */
const SERVER_RETRY_MS = 30_000;

interface Counts {
  readonly entries: number;
  readonly healed: number;
  readonly seconds: number;
}

/**
 * Compares the mirror with the whole directory at intervals, in the background and on a separate connection
 * (docs/adr/0016). It only finds the entries that differ; the follower reads them again, so that no value is
 * replaced by an older one. There is one Reconciler for each session; the times of the last comparisons are
 * stored in the database.
 */
export class Reconciler {
  /** When a comparison of each kind is due, in milliseconds on a monotonic clock. */
  private readonly dueAt: Record<ReconciliationKind, number> = { identities: -Infinity, contents: Infinity };
  private isPrepared = false;
  private scanning: Promise<void> | null = null;
  private failure: { readonly error: unknown } | null = null;
  private finding: ScanResult | null = null;
  private readonly stopping = new AbortController();
  private readonly signal: AbortSignal;

  constructor(
    private readonly dependencies: FollowDependencies,
    signal: AbortSignal,
  ) {
    this.signal = AbortSignal.any([signal, this.stopping.signal]);
  }

  get millisecondsUntilDue(): number {
    if (this.hasFinding || this.failure !== null || !this.isPrepared) return 0;
    if (this.scanning !== null) return POLL_INTERVAL_MS;
    return Math.max(0, Math.min(this.dueAt.identities, this.dueAt.contents) - performance.now());
  }

  /** Whether a comparison in the background has ended and its result has not been taken yet. */
  get hasFinding(): boolean {
    return this.finding !== null;
  }

  takeFinding(): ScanResult | null {
    const { finding } = this;
    this.finding = null;
    return finding;
  }

  /** Returns the depth of the comparison that is due, at least `identities`. */
  async getDepthDue(): Promise<Depth> {
    await this.prepare();
    return this.dueAt.contents <= performance.now() ? 'contents' : 'identities';
  }

  /**
   * Starts a comparison in the background if one is due.
   * @throws the error of the last comparison
   */
  async tick(): Promise<void> {
    if (this.failure !== null) throw this.failure.error;
    await this.prepare();
    if (this.scanning !== null || this.hasFinding) return;
    const now = performance.now();
    if (this.dueAt.contents <= now) this.scanning = this.scanInBackground('contents');
    else if (this.dueAt.identities <= now) this.scanning = this.scanInBackground('identities');
  }

  /** Compares at once. No other paged search may run on the connection at the same time. */
  async scanNow(connection: LdapConnection, depth: Depth): Promise<ScanResult> {
    await this.prepare();
    return this.scan(connection, depth, false);
  }

  /**
   * Records that the findings of a comparison have been applied. A `look` scan is part of normal following,
   * and is not reported.
   */
  async conclude({ depth, entries, seconds }: ScanResult, healed: number): Promise<void> {
    if (depth === 'look') return;
    await this.finish(depth === 'contents', { entries, healed, seconds });
    this.report(depth, { entries, healed, seconds });
  }

  /**
   * Records that the whole directory has been read and applied, including pictures.
   * @param found the comparison that required the reading, or null if none did
   * @param healed number of its entries that the reading has changed
   */
  async noteWhole(seconds: number, found: ScanResult | null, healed: number): Promise<void> {
    const { people, groups } = await countStored(this.dependencies.manager);
    const counts = { entries: people + groups, healed, seconds };
    await this.finish(true, counts);
    this.isPrepared = true;
    if (found !== null) this.report(found.depth === 'contents' ? 'contents' : 'identities', counts);
  }

  async close(): Promise<void> {
    this.stopping.abort();
    await this.scanning;
  }

  /**
   * Loads the times of the last comparisons, which survive a restart. A wrong clock delays a comparison by at
   * most one interval.
   */
  private async prepare(): Promise<void> {
    if (this.isPrepared) return;
    const { config, manager } = this.dependencies;
    const last = (await readReconciliations(manager)).find(({ kind }) => kind === 'contents');
    const interval = config.reconcileSeconds.contents * 1000;
    const age = last === undefined ? Infinity : Date.now() - last.finishedAt.getTime();
    const isOverdue = age < 0 || age > interval;
    this.dueAt.contents = isOverdue ? -Infinity : performance.now() + interval - age;
    this.isPrepared = true;
  }

  private async scanInBackground(depth: ReconciliationKind): Promise<void> {
    let connection: LdapConnection | null = null;
    try {
      const { directory, state } = this.dependencies;
      const known = parsePosition((await state.get()).position);
      const choice = await chooseServer(directory, known, this.signal);
      ({ connection } = choice);
      // Several servers may share one address. A comparison with one that lags only shows false differences.
      if (choice.behind === null) this.finding = await this.scan(connection, depth, true);
      else this.dueAt[depth] = performance.now() + SERVER_RETRY_MS;
    } catch (error) {
      if (!this.signal.aborted) this.failure = { error };
    } finally {
      connection?.close();
      this.scanning = null;
    }
  }

  private async scan(connection: LdapConnection, depth: Depth, isThrottled: boolean): Promise<ScanResult> {
    const { manager, directory, config } = this.dependencies;
    const { signal } = this;
    const close = () => {
      connection.close();
    };
    signal.addEventListener('abort', close);
    try {
      const options = { depth, isThrottled, signal };
      return await new Scan(manager, directory, connection, config.mapping, options).run();
    } finally {
      signal.removeEventListener('abort', close);
    }
  }

  private report(kind: ReconciliationKind, counts: Counts): void {
    const { synchronizer, reporter } = this.dependencies;
    synchronizer.reconciliations.add(kind, counts.healed);
    reporter.reportReconciled({ kind, ...counts });
  }

  private async finish(withContents: boolean, counts: Counts): Promise<void> {
    const { config, manager } = this.dependencies;
    const kinds: ReconciliationKind[] = withContents ? ['identities', 'contents'] : ['identities'];
    await writeReconciliations(manager, kinds, { ...counts, finishedAt: new Date() });
    for (const kind of kinds) this.dueAt[kind] = performance.now() + config.reconcileSeconds[kind] * 1000;
  }
}
