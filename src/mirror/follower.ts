import { setTimeout as sleep } from 'node:timers/promises';
import { backOff } from '../common/back-off.js';
import type { DirectoryConfig } from '../config/settings/directory.js';
import type { PresetName } from '../config/model/presets/presets.js';
import { readClock } from '../database/statements/statement.js';
import { LockingRejectionError } from '../ldap/client/ldap-error.js';
import { LdapClosedError, LdapConnectError, LdapError, LdapTimeoutError } from '../ldap/client/ldap-error.js';
import { type Directory, type Identity, OtherServerError, ServerBehindError } from '../sources/directory.js';
import { openDirectory } from '../sources/open-directory.js';
import { readPassword, waitForPassword } from '../sources/ldap/ldap-servers.js';
import type { Term } from './leadership.js';
import type { RevisionOutcome } from './revision/revision.js';
import type { RunReporter } from './run-reporter.js';
import { Session } from './session.js';
import { type MirrorState, SyncState } from './status/mirror-state.js';
import { isOfDirectory, type Synchronizer } from './synchronizer.js';

/** The next scan waits for this multiple of the duration of the last one, within these milliseconds. */
const SCAN_REST_FACTOR = 50;
const LEAST_REST_MS = 30_000;
const LONGEST_REST_MS = 600_000;
/** A scan that may find nothing waits for this multiple of the duration of the last one. */
const SOON_REST_FACTOR = 9;
/** Hours after which stamps are ignored once: access rules change what the account sees without another stamp. */
const WHOLE_HOURS = 24;
/** Milliseconds without a hint after which the changes are one revision, and the longest time that a change waits for others. */
const QUIET_MS = 10;
const LONGEST_BATCH_MS = 200;
/** Milliseconds after which groups that name a renamed entry are read again. A server rewrites them with an unknown delay. */
const REFINT_DELAYS_MS = [250, 1000, 5000, 30_000];
/** Milliseconds between a hint of a moved container and the scan: until then, most servers have rewritten the groups. */
const SETTLE_MS = 250;
/** Dynamic groups are read again after this multiple of the time that it took, within these milliseconds. */
const DYNAMIC_REST_FACTOR = 9;
const LEAST_DYNAMIC_REST_MS = 2000;
/** Milliseconds between two checks whether an operator has decided about held changes. */
const DECISION_INTERVAL_MS = 2000;
/** The only server of the setting was restored if it lacks known changes, and gets no others, for this many intervals of scans. */
const RESTORED_AFTER = 2;
/** Milliseconds that a hint may take from the server. */
const IN_FLIGHT_MS = 250;
/**
 * Milliseconds after which a rejected password is used again, the first time and later. A usual domain counts failures until none has
 * occurred for 30 minutes, and locks the account after a few.
 */
const REJECTED_INTERVAL_MS = 600_000;
const LONG_REJECTED_INTERVAL_MS = 2_100_000;

/** Errors of a server that cannot be reached. */
const AWAY = [LdapClosedError, LdapConnectError, LdapTimeoutError];

interface Dependencies {
  readonly config: DirectoryConfig;
  readonly url: string;
  readonly synchronizer: Synchronizer;
  readonly state: MirrorState;
  readonly reporter: RunReporter;
  /** The server is of another kind than the one whose preset applies. */
  readonly onOtherServer: (kind: PresetName) => void;
}

/**
 * Keeps the mirror equal to the directory while this process leads. Hints of the directory name entries to look at, and scans find what
 * no hint named; both end in one queue, and only what is read again is applied. There is one consumer of the queue, so that an older
 * reading never follows a newer one.
 */
export class Follower {
  /** The state of a server that lacks known changes, and since when it is so. */
  private behind: { readonly state: string; readonly since: number } | null = null;

  constructor(
    private readonly dependencies: Dependencies,
    private readonly term: Term,
    /** Called when the first scan has ended, successfully or not. */
    private readonly settled: () => void,
  ) {}

  /** Follows until the term ends. Errors of the directory are logged, and it is tried again; all others are thrown. */
  async follow(): Promise<void> {
    const { config, url, reporter, state } = this.dependencies;
    const { signal } = this.term;
    let failures = 0;
    while (!signal.aborted) {
      const { source } = config;
      const password = source.kind === 'ldap' ? await readPassword(source) : undefined;
      const session = await Session.open(url);
      try {
        await this.followOnce(session, () => {
          failures = 0;
          this.behind = null;
        });
      } catch (error) {
        if (this.term.signal.aborted) return;
        if (!isOfDirectory(error)) throw error;
        failures++;
        if (error instanceof ServerBehindError && error.state !== this.behind?.state)
          this.behind = { state: error.state, since: performance.now() };
        if (error instanceof OtherServerError) this.dependencies.onOtherServer(error.kind);
        const isAway = [error, error.cause].some((each) => AWAY.some((type) => each instanceof type));
        reporter.reportFailure(error.message, isAway);
        await state.markFailing(error.message, this.term.number);
        this.settled();
        await this.pauseAfter(error, failures, password);
      } finally {
        await session.close();
      }
    }
  }

  /** The state of a server that was restored from a backup: one that only lags gets changes again. */
  private get restored(): string | null {
    const { source, scanSeconds } = this.dependencies.config;
    if (this.behind === null || source.kind !== 'ldap' || source.servers.length > 1) return null;
    const interval = scanSeconds === null ? LEAST_REST_MS : scanSeconds * 1000;
    return performance.now() - this.behind.since > RESTORED_AFTER * interval ? this.behind.state : null;
  }

  /** Waits before the next attempt. Many attempts with a rejected password would lock the account. */
  private async pauseAfter(error: Error, failures: number, password: string | undefined): Promise<void> {
    const { source } = this.dependencies.config;
    const { signal } = this.term;
    const rejection = error instanceof LdapError && error.cause !== undefined ? error.cause : error;
    if (source.kind === 'ldap' && rejection instanceof LockingRejectionError) {
      const longest = failures === 1 ? REJECTED_INTERVAL_MS : LONG_REJECTED_INTERVAL_MS;
      await waitForPassword(source, password, longest, signal);
    } else await sleep(backOff(failures, Math.random()), undefined, { signal }).catch(() => undefined);
  }

  private async followOnce(session: Session, onScan: () => void): Promise<void> {
    const { config, state } = this.dependencies;
    const { contextCsns } = await state.readScanState(session);
    const directory = await openDirectory(config, contextCsns, this.term.signal);
    const ending = new AbortController();
    const signal = AbortSignal.any([this.term.signal, ending.signal]);
    const close = () => {
      directory.close();
    };
    signal.addEventListener('abort', close);
    const queue = new HintQueue();
    const receiving = receive(directory, queue, signal);
    try {
      await new Following(
        this.dependencies,
        this.term,
        { directory, session, queue, accepted: this.restored },
        this.settled,
        onScan,
      ).run();
    } finally {
      ending.abort(new Error('The directory was closed'));
      await receiving;
      directory.close();
    }
  }
}

async function receive(directory: Directory, queue: HintQueue, signal: AbortSignal): Promise<void> {
  try {
    for await (const hint of directory.hints(signal)) {
      if (hint === 'scan') queue.requestScan();
      else if (hint === 'scanSoon') queue.requestScanSoon();
      else queue.add(hint);
    }
  } catch (error) {
    queue.fail(error);
  }
}

/** The entries to look at. */
class HintQueue {
  isScanRequested = false;
  isScanWanted = false;
  private uuids = new Set<string>();
  private later: { readonly at: number; readonly uuids: readonly string[] }[] = [];
  private error: Error | null = null;
  private wake: () => void = () => undefined;

  add(uuids: readonly string[]): void {
    for (const uuid of uuids) this.uuids.add(uuid);
    this.wake();
  }

  /** @param milliseconds from now */
  addLater(uuids: readonly string[], milliseconds: number): void {
    if (uuids.length > 0) this.later.push({ at: performance.now() + milliseconds, uuids });
  }

  requestScan(): void {
    this.isScanRequested = true;
    this.wake();
  }

  requestScanSoon(): void {
    this.isScanWanted = true;
    this.wake();
  }

  fail(error: unknown): void {
    this.error ??= error instanceof Error ? error : new Error(String(error));
    this.wake();
  }

  get size(): number {
    const now = performance.now();
    for (const { uuids } of this.later.filter(({ at }) => at <= now))
      for (const uuid of uuids) this.uuids.add(uuid);
    this.later = this.later.filter(({ at }) => at > now);
    return this.uuids.size;
  }

  take(): string[] {
    const taken = [...this.uuids];
    this.uuids = new Set();
    return taken;
  }

  /**
   * Waits until there is more than before, for at most some milliseconds.
   * @throws the error with which the hints ended
   */
  async wait(milliseconds: number, before = 0): Promise<void> {
    this.throwError();
    if (this.size > before || (before === 0 && this.isScanRequested)) return;
    const due = Math.min(milliseconds, ...this.later.map(({ at }) => at - performance.now()));
    await new Promise<void>((resolve) => {
      const timeout = setTimeout(resolve, Math.max(0, due));
      this.wake = () => {
        clearTimeout(timeout);
        resolve();
      };
    });
    this.wake = () => undefined;
    this.throwError();
  }

  private throwError(): void {
    if (this.error !== null) throw this.error;
  }
}

interface Place {
  readonly directory: Directory;
  readonly session: Session;
  readonly queue: HintQueue;
  /** As in RunOptions. */
  readonly accepted: string | null;
}

/** Follows a directory over one connection. */
class Following {
  private nextScanAt = -Infinity;
  private scanRestsUntil = -Infinity;
  private confirmedAt = performance.now();
  private isBlocked = false;
  /** The dynamic groups, whose members the server finds by a search, and when they may be read again. */
  private dynamicGroups: readonly string[] = [];
  private dynamicRestsUntil = -Infinity;

  constructor(
    private readonly dependencies: Dependencies,
    private readonly term: Term,
    private readonly place: Place,
    private readonly settled: () => void,
    private readonly onScan: () => void,
  ) {}

  /** Ends when held changes are compared again: another server of the setting may be the better one. */
  async run(): Promise<void> {
    const { queue } = this.place;
    for (;;) {
      this.term.signal.throwIfAborted();
      const now = performance.now();
      if (this.isBlocked && now >= this.nextScanAt) return;
      const isSoon = queue.isScanWanted || (queue.isScanRequested && this.isBlocked);
      const isRequested = queue.isScanRequested && !this.isBlocked;
      if (now >= this.nextScanAt || isRequested || (isSoon && now >= this.scanRestsUntil)) await this.scan();
      else if (this.isBlocked) await this.awaitDecision();
      else if (queue.size > 0) await this.advance();
      else await this.rest();
    }
  }

  private get aliveSeconds(): number {
    return this.dependencies.config.syncSeconds;
  }

  private async scan(): Promise<void> {
    const { synchronizer, reporter, state } = this.dependencies;
    const { directory, session, queue, accepted } = this.place;
    if (queue.isScanRequested && directory.mode !== null)
      await sleep(SETTLE_MS, undefined, { signal: this.term.signal });
    queue.isScanRequested = false;
    queue.isScanWanted = false;
    // What is hinted from now on is newer than the scan.
    const hinted = queue.take();
    const { wholeAt, now } = await state.readScanState(session);
    const isWhole = wholeAt === null || now.getTime() - wholeAt.getTime() > WHOLE_HOURS * 3_600_000;
    const begun = performance.now();
    const { number: leader, signal } = this.term;
    const outcome = await reporter.reportRun((progress) =>
      synchronizer.run(directory, session, { leader, isWhole, accepted, signal, progress }),
    );
    queue.add(hinted);
    const spent = performance.now() - begun;
    const { scanSeconds } = this.dependencies.config;
    const rest = Math.min(Math.max(spent * SCAN_REST_FACTOR, LEAST_REST_MS), LONGEST_REST_MS);
    this.scanRestsUntil = performance.now() + spent * SOON_REST_FACTOR;
    this.nextScanAt = performance.now() + (scanSeconds === null ? rest : scanSeconds * 1000);
    this.confirmedAt = performance.now();
    this.dynamicGroups = directory.mode === null ? [] : await state.readDynamicGroups(session);
    reporter.reportMode(directory);
    this.note(outcome);
    this.onScan();
    this.settled();
  }

  private async advance(): Promise<void> {
    const { synchronizer, reporter } = this.dependencies;
    const { directory, session, queue } = this.place;
    const latest = performance.now() + LONGEST_BATCH_MS;
    for (let before = -1; before < queue.size && performance.now() < latest;) {
      before = queue.size;
      await queue.wait(QUIET_MS, before);
    }
    const clock = await readClock(session);
    const asOf = directory.mode === 'POLLED' ? null : clock;
    const identities = await this.identify(queue.take());
    const begun = performance.now();
    const { number: leader, signal } = this.term;
    const outcome = await reporter.reportRun(() =>
      synchronizer.advance(directory, session, identities, { leader, signal, asOf }),
    );
    this.confirmedAt = performance.now();
    this.note(outcome);
    this.noteDynamic(outcome, performance.now() - begun);
  }

  private async identify(uuids: readonly string[]): Promise<Identity[]> {
    const rows = await this.place.session.query<(Identity & object)[]>(
      `select given.uuid, e.dn from unnest($1::uuid[]) as given (uuid) left join entries e on e.uuid = given.uuid`,
      [uuids],
    );
    return rows;
  }

  private note(outcome: RevisionOutcome): void {
    const { directory, queue } = this.place;
    this.isBlocked = outcome.kind === 'blocked' || outcome.kind === 'held';
    if (outcome.kind === 'partial') queue.requestScan();
    if (outcome.kind === 'applied' && directory.mode !== null)
      for (const delay of REFINT_DELAYS_MS) queue.addLater(outcome.naming, delay);
  }

  /** A change of a user can change the members of dynamic groups, without a hint. */
  private noteDynamic(outcome: RevisionOutcome, spent: number): void {
    if (outcome.kind !== 'applied' || this.dynamicGroups.length === 0) return;
    const { users, groups } = outcome.counts;
    if ([users, groups].every((each) => each.created + each.updated + each.deleted === 0)) return;
    const now = performance.now();
    this.place.queue.addLater(this.dynamicGroups, Math.max(0, this.dynamicRestsUntil - now));
    this.dynamicRestsUntil =
      Math.max(now, this.dynamicRestsUntil) + Math.max(spent * DYNAMIC_REST_FACTOR, LEAST_DYNAMIC_REST_MS);
  }

  private async awaitDecision(): Promise<void> {
    const { state } = this.dependencies;
    await sleep(DECISION_INTERVAL_MS, undefined, { signal: this.term.signal });
    // What is hinted is compared with the whole directory, because the changes that are held are not in the mirror.
    if (this.place.queue.take().length > 0) this.place.queue.requestScanSoon();
    if ((await state.get()).state === SyncState.BLOCKED) return;
    this.isBlocked = false;
    this.nextScanAt = -Infinity;
  }

  /** Waits for a hint or the next scan. Without one, it confirms from time to time that the mirror is current. */
  private async rest(): Promise<void> {
    const { directory, session, queue } = this.place;
    const now = performance.now();
    const aliveAt = this.confirmedAt + this.aliveSeconds * 1000;
    const soonAt = queue.isScanWanted ? this.scanRestsUntil : Infinity;
    await queue.wait(Math.min(aliveAt, this.nextScanAt, soonAt) - now);
    if (queue.size > 0 || performance.now() < aliveAt) return;
    const asOf = await readClock(session);
    await directory.ping();
    if (directory.mode !== null) await queue.wait(IN_FLIGHT_MS);
    this.confirmedAt = performance.now();
    if (queue.size > 0 || queue.isScanRequested || queue.isScanWanted || directory.mode === 'POLLED') return;
    await this.dependencies.state.confirm(asOf, this.term.number);
  }
}
