import { setTimeout as sleep } from 'node:timers/promises';
import { Logger } from '@nestjs/common';
import { Incident } from '../common/incident.js';
import { PROGRAM } from '../config/paths.js';
import type { DirectoryConfig } from '../config/settings/directory.js';
import type { PresetName } from '../config/model/presets/presets.js';
import { readClock } from '../database/statements/statement.js';
import { LdapError, LockingRejectionError } from '../ldap/client/ldap-error.js';
import {
  type Directory,
  HintMode,
  HintQueue,
  OtherServerError,
  ServerBehindError,
} from '../sources/directory.js';
import { namesGroups } from '../sources/references.js';
import { openDirectory, readPassword, waitForPassword } from '../sources/ldap/ldap-servers.js';
import type { Term } from './leadership.js';
import { MOST_NAMING } from './revision/staging.js';
import type { RevisionOutcome } from './revision/write-revision.js';
import { type MirrorState, SyncState } from './status/mirror-state.js';
import { isOfDirectory, type ProgressStep, summarize, type Synchronizer } from './synchronizer.js';

/** The next scan waits for this multiple of the duration of the last one, within these milliseconds. */
const SCAN_REST_FACTOR = 50;
const LEAST_REST_MS = 30_000;
const LONGEST_REST_MS = 600_000;
/** A scan that may find nothing waits for this multiple of the duration of the last one. */
const SOON_REST_FACTOR = 9;
/** Milliseconds without a hint after which the changes are one revision, and the longest time that a change waits for others. */
const QUIET_MS = 4;
const LONGEST_BATCH_MS = 200;
/** Milliseconds after which entries that name a renamed one are read again. A server rewrites them with an unknown delay. */
const REFINT_DELAYS_MS = [250, 1000, 5000, 30_000];
/** Milliseconds after which the last of these readings has begun. */
const REFINT_MS = 31_000;
/** Milliseconds between a hint of a moved container and the scan: until then, most servers have rewritten the groups. */
const SETTLE_MS = 250;
/** Milliseconds between two checks whether an operator has decided about held changes. */
const DECISION_INTERVAL_MS = 2000;
/** The only server of the setting was restored if it lacks known changes, and gets no others, for this many intervals of scans. */
const RESTORED_AFTER = 1.5;
/**
 * Milliseconds after which a rejected password is used again, the first time and later. A usual domain counts failures until none has
 * occurred for 30 minutes, and locks the account after a few.
 */
const REJECTED_INTERVAL_MS = 600_000;
const LONG_REJECTED_INTERVAL_MS = 2_100_000;
/** Milliseconds of the longest pause after a failure (random up to that, «full jitter»): doubled after each further one, up to the last. */
const FIRST_PAUSE_MS = 500;
const LONGEST_PAUSE_MS = 5000;

/** Milliseconds between two log lines about a long run. */
const PROGRESS_INTERVAL = 2000;

interface Dependencies {
  readonly config: DirectoryConfig;
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
    const { config, reporter, state, onOtherServer } = this.dependencies;
    const { number, signal } = this.term;
    let failures = 0;
    while (!signal.aborted) {
      const password = config.source.kind === 'ldap' ? await readPassword(config.source) : undefined;
      try {
        await this.followOnce(() => {
          failures = 0;
          this.behind = null;
          this.settled();
        });
      } catch (error) {
        if (this.term.signal.aborted) return;
        if (!isOfDirectory(error)) throw error;
        failures++;
        if (error instanceof ServerBehindError && error.state !== this.behind?.state)
          this.behind = { state: error.state, since: performance.now() };
        if (error instanceof OtherServerError) onOtherServer(error.kind);
        reporter.reportFailure(error.message);
        await state.markFailing(error.message, number);
        this.settled();
        await this.pauseAfter(error, failures, password);
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
    } else {
      const span = Math.min(FIRST_PAUSE_MS * 2 ** (failures - 1), LONGEST_PAUSE_MS);
      await sleep(Math.random() * span, undefined, { signal }).catch(() => undefined);
    }
  }

  /** @param onScan called after each scan */
  private async followOnce(onScan: () => void): Promise<void> {
    const { session, signal } = this.term;
    const [known] = await session.query<{ csns: string[] }[]>(
      'select context_csns as csns from mirror_state',
    );
    const directory = await openDirectory(this.dependencies.config, known?.csns ?? [], signal);
    const ending = new AbortController();
    const either = AbortSignal.any([signal, ending.signal]);
    either.addEventListener('abort', () => {
      directory.close();
    });
    const queue = new HintQueue();
    const receiving = queue.receive(directory.hints(either));
    try {
      await new QueueConsumer(this.dependencies, this.term, directory, queue, this.restored, onScan).run();
    } finally {
      ending.abort(new Error('The directory was closed'));
      await receiving;
    }
  }
}

/** Scans a directory, and reads what the queue of its hints names, as long as one connection lasts. */
class QueueConsumer {
  private nextScanAt = -Infinity;
  private scanRestsUntil = -Infinity;
  private confirmedAt = performance.now();
  /** A time, and when the queue has all hints of changes before it. */
  private mark: { readonly asOf: Date; readonly completeAt: number } | null = null;
  /** Until then, a server may rewrite references without a hint. */
  private rewrittenAt = -Infinity;
  private isBlocked = false;
  /** Whether the server computes memberships, so that a change of one entry changes others without a hint. */
  private hasComputedMemberships = false;

  constructor(
    private readonly dependencies: Dependencies,
    private readonly term: Term,
    private readonly directory: Directory,
    private readonly queue: HintQueue,
    /** As in RunOptions. */
    private readonly accepted: string | null,
    private readonly onScan: () => void,
  ) {}

  /** Ends when held changes are compared again: another server of the setting may be the better one. */
  async run(): Promise<void> {
    const { queue } = this;
    for (;;) {
      this.term.signal.throwIfAborted();
      const now = performance.now();
      if (this.isBlocked && now >= this.nextScanAt) return;
      const isDue = queue.scan === 'scan' && !this.isBlocked;
      const isSoon = queue.scan !== null && now >= this.scanRestsUntil;
      if (now >= this.nextScanAt || isDue || isSoon) await this.scan();
      else if (this.isBlocked) await this.awaitDecision();
      else if (queue.size > 0) await this.advance();
      else await this.rest();
    }
  }

  private async scan(): Promise<void> {
    const { synchronizer, reporter, state } = this.dependencies;
    const { directory, queue, accepted } = this;
    const { number: leader, session, signal } = this.term;
    if (queue.scan === 'scan' && directory.mode !== null) await sleep(SETTLE_MS, undefined, { signal });
    queue.scan = null;
    const begun = performance.now();
    const outcome = await reporter.reportRun((progress) =>
      synchronizer.run(directory, session, { leader, accepted, signal, progress }),
    );
    const spent = performance.now() - begun;
    const { scanSeconds, mapping } = this.dependencies.config;
    const rest = Math.min(Math.max(spent * SCAN_REST_FACTOR, LEAST_REST_MS), LONGEST_REST_MS);
    this.scanRestsUntil = performance.now() + spent * SOON_REST_FACTOR;
    this.nextScanAt = performance.now() + (scanSeconds === null ? rest : scanSeconds * 1000);
    this.confirmedAt = performance.now();
    this.mark = null;
    // OpenLDAP computes what users name when a group changes, without a sign.
    const isComputed = namesGroups(mapping.users) || (await state.hasDynamicGroups(session));
    this.hasComputedMemberships = directory.mode !== null && isComputed;
    reporter.reportMode(directory);
    this.note(outcome);
    this.onScan();
  }

  private async advance(): Promise<void> {
    const { synchronizer, reporter } = this.dependencies;
    const { directory, queue } = this;
    const { number: leader, session, signal } = this.term;
    const latest = performance.now() + LONGEST_BATCH_MS;
    for (let before = -1; before < queue.size && performance.now() < latest;) {
      before = queue.size;
      await queue.wait(QUIET_MS, before);
    }
    // A change of a user may change the members of groups that only a scan finds.
    const asOf = this.hasComputedMemberships ? null : this.takeMark();
    const uuids = queue.take();
    const outcome = await reporter.reportRun(() =>
      synchronizer.advance(directory, session, uuids, { leader, signal, asOf }),
    );
    this.note(outcome);
    // A filter can name attributes that the model does not read.
    if (this.hasComputedMemberships) queue.request('scanSoon');
    await this.setMark();
  }

  private async setMark(): Promise<void> {
    if (this.mark !== null) return;
    const asOf = await readClock(this.term.session);
    await this.directory.ping();
    this.mark = {
      asOf,
      completeAt: Math.max(performance.now() + this.directory.hintDelay, this.rewrittenAt),
    };
  }

  /** The mirror has all changes before the time when it has what the queue names. Null: it is unknown. */
  private takeMark(): Date | null {
    const { mark, queue } = this;
    if (mark === null || performance.now() < mark.completeAt) return null;
    this.mark = null;
    this.confirmedAt = performance.now();
    return queue.scan === null ? mark.asOf : null;
  }

  private note(outcome: RevisionOutcome): void {
    const { directory, queue } = this;
    this.isBlocked = outcome.kind === 'blocked' || outcome.kind === 'held';
    // A polled server is scanned soon: what is read without a scan could name entries that have another DN since.
    if (outcome.kind !== 'applied' || outcome.naming.length === 0) return;
    if (directory.mode === null || directory.mode === HintMode.POLLED) return;
    this.rewrittenAt = performance.now() + REFINT_MS;
    for (const delay of REFINT_DELAYS_MS)
      setTimeout(() => {
        if (outcome.naming.length < MOST_NAMING) queue.add(outcome.naming);
        else queue.request('scanSoon');
      }, delay).unref();
  }

  private async awaitDecision(): Promise<void> {
    const { state } = this.dependencies;
    await sleep(DECISION_INTERVAL_MS, undefined, { signal: this.term.signal });
    // What is hinted is compared with the whole directory, because the changes that are held are not in the mirror.
    if (this.queue.take().length > 0) this.queue.request('scanSoon');
    if ((await state.get()).state === SyncState.BLOCKED) return;
    this.isBlocked = false;
    this.nextScanAt = -Infinity;
  }

  /** Waits for a hint or the next scan. Without one, it confirms from time to time that the mirror is current. */
  private async rest(): Promise<void> {
    const { directory, queue, mark } = this;
    const { config, state } = this.dependencies;
    const now = performance.now();
    const aliveAt = mark?.completeAt ?? this.confirmedAt + config.syncSeconds * 1000;
    const soonAt = queue.scan === null ? Infinity : this.scanRestsUntil;
    await queue.wait(Math.min(aliveAt, this.nextScanAt, soonAt) - now);
    if (queue.size > 0 || performance.now() < aliveAt) return;
    if (mark === null) return this.setMark();
    const asOf = this.takeMark();
    if (asOf !== null && directory.mode !== HintMode.POLLED) await state.confirm(asOf, this.term.number);
  }
}

/** Logs how runs end. A message is not repeated until the directory is followed again, which is logged as well. */
export class RunReporter {
  private readonly logger = new Logger('Mirror');
  private readonly failing = new Incident(this.logger);
  private readonly holding = new Incident(this.logger);
  private lastMode: string | null = null;

  /** @param run reports its progress if it may take long */
  async reportRun(
    run: (progress: (step: ProgressStep) => void) => Promise<RevisionOutcome>,
  ): Promise<RevisionOutcome> {
    const begun = performance.now();
    let next = begun + PROGRESS_INTERVAL;
    const outcome = await run((step) => {
      const now = performance.now();
      if (step.stage !== 'read' || now < next) return;
      next = now + PROGRESS_INTERVAL;
      this.logger.log(`${step.entries} entries read`);
    });
    const milliseconds = Math.round(performance.now() - begun);
    if (outcome.kind === 'held') return outcome;
    if (outcome.kind === 'applied')
      this.logger.log(
        `Revision ${outcome.revision.number} in ${milliseconds} ms: ${summarize(outcome.counts)}`,
      );
    if (outcome.kind === 'blocked')
      this.holding.note(
        `Synchronization is blocked: ${outcome.reason}. If that is right: ${PROGRAM} sync --confirm ${outcome.hash}`,
      );
    else this.holding.end('No plan is blocked any more');
    this.failing.end('Synchronization works again');
    return outcome;
  }

  /** Logs how the directory is followed, if that has changed, and what the server refuses, once. */
  reportMode({ mode, refusals }: Directory): void {
    const texts = {
      PUSHED: 'The directory server pushes changes (RFC 4533)',
      COUNTED: 'The directory server numbers its changes: it is asked for the latest number every second',
      POLLED: 'The directory server does not push changes: it is polled',
    };
    const text = mode === null ? null : [texts[mode], ...refusals].join('. ');
    if (text !== null && text !== this.lastMode) this.logger.log(text);
    this.lastMode = text;
  }

  reportFailure(reason: string, level?: 'error'): void {
    this.failing.note(`Synchronization fails, and the mirror stays unchanged: ${reason}`, level);
  }
}
