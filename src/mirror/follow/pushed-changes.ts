import { readClock } from '../../database/statements/statement.js';
import type { LdapConnection } from '../../ldap/client/ldap-connection.js';
import { ContentSyncRefusedError } from '../../ldap/sync/content-sync-error.js';
import { ContentSession } from '../../sources/ldap/content-session.js';
import type { FollowDependencies } from './follow-dependencies.js';
import { isSamePosition, type Position } from '../../sources/ldap/position.js';
import { PositionReplacedError } from './position-replaced.error.js';
import { type DirectorySource, fingerprintOf } from '../../sources/source.js';
import { readServerState } from '../../sources/ldap/server-state.js';
import type { PendingChanges } from './pending-changes.js';
import { type MirrorStatus, SyncState } from '../status/mirror-state.js';
import type { SyncOutcome } from '../sync/outcome.js';
import { readKnownUuids } from '../reconcile/stored-scan.js';

/**
 * Milliseconds that a change may take from the server. Only then does the follower assume that there are no
 * further changes.
 */
const IN_FLIGHT_MS = 250;

const METHOD = 'The directory server pushes changes (RFC 4533)';

export type OnUpToDate = (outcome: SyncOutcome) => void;

interface Conduct {
  readonly run: (source: DirectorySource) => Promise<SyncOutcome>;
  /** Called when the mirror is up to date, or when a plan is held. */
  readonly onUpToDate: OnUpToDate;
}

/** Keeps the mirror synchronized with a server that pushes changes (RFC 4533), over one connection. */
export class PushedChanges {
  /** Every change made before this instant is among those that the session has returned. */
  private asOf = new Date(0);
  /** The state of the mirror at that instant. */
  private status: MirrorStatus | undefined;

  constructor(
    private readonly dependencies: FollowDependencies,
    private readonly connection: LdapConnection,
    private readonly pendingChanges: PendingChanges,
  ) {}

  /**
   * Follows the server. Returns when a plan is held.
   * @param from the position at the end of the last session, or null to read the whole directory
   * @throws RefreshRequiredError if the server cannot continue from there; ServerBehindError if it is behind
   * @throws OutdatedPlanError if another process has changed the mirror meanwhile: it takes a new session
   * @throws ContentSyncRefusedError if it refuses content synchronization; LdapError if the connection ends
   */
  async follow(
    before: MirrorStatus,
    from: Extract<Position, { kind: 'cookies' }> | null,
    signal: AbortSignal,
    { run, onUpToDate }: Conduct,
  ): Promise<void> {
    const { directory, manager } = this.dependencies;
    this.asOf = await readClock(manager);
    const session = await ContentSession.open(directory, this.connection, { from, follows: true, signal });
    try {
      let outcome = from === null ? await this.readWhole(session, run) : await this.catchUp(session, before);
      onUpToDate(outcome);
      while (outcome.kind !== 'blocked') outcome = await this.takeNext(session);
      onUpToDate(outcome);
    } finally {
      session.close();
    }
  }

  private async readWhole(session: ContentSession, run: Conduct['run']): Promise<SyncOutcome> {
    const { config, reporter } = this.dependencies;
    const refusals: ContentSyncRefusedError[] = [];
    const source = {
      isReadOnce: true,
      fingerprint: () => Promise.resolve(fingerprintOf(config)),
      read: () => notingRefusals(session.readAll(), refusals),
      position: () => session.position(),
    };
    const outcome = await run(source).catch((error: unknown) => {
      // The run keeps only the reason of a failure. A refusal has to keep its class, because the directory
      // can still be read by polling.
      throw refusals[0] ?? error;
    });
    this.pendingChanges.storedPosition = session.position();
    reporter.reportMethod(METHOD);
    return outcome;
  }

  private async catchUp(session: ContentSession, before: MirrorStatus): Promise<SyncOutcome> {
    const begun = performance.now();
    this.pendingChanges.storedPosition = before.position;
    // The position of the last batch is stored only when all of it has been applied.
    const behind = { position: before.position, asOf: before.asOf ?? this.asOf };
    const { pendingChanges } = this;
    const { manager, reporter } = this.dependencies;
    let outcome: SyncOutcome = { kind: 'unchanged' };
    for await (const { changes, isLast } of session.readChanges((kind) => readKnownUuids(manager, kind))) {
      pendingChanges.add(changes.delta);
      const tooMuch = await pendingChanges.readAgain(changes.unread, behind);
      if (tooMuch !== null) return tooMuch;
      // A server that hides entries it showed before sends no message about them, and the cause of the
      // earlier failure may persist.
      const held =
        isLast && before.state !== SyncState.IDLE && (await pendingChanges.compareAfterTrouble(behind));
      if (held) return held;
      if (isLast) await session.numbers.read();
      outcome = await pendingChanges.takeOver(
        isLast ? { position: session.position(), asOf: this.asOf } : behind,
      );
      if (outcome.kind === 'blocked') return outcome;
    }
    reporter.reportMethod(METHOD);
    reporter.reportCaughtUp(performance.now() - begun);
    return outcome;
  }

  private async takeNext(session: ContentSession): Promise<SyncOutcome> {
    const { pendingChanges, connection } = this;
    const { config, directory } = this.dependencies;
    const timeoutMs = Math.min(pendingChanges.millisecondsUntilDue, config.syncSeconds * 1000);
    const received = await this.receive(session, timeoutMs);
    if (typeof received === 'object') return received;
    const isQuiet = !received;
    if (isQuiet) {
      await this.readStatus();
      // The response shows that the server is available, and that all earlier changes have been sent.
      await readServerState(connection, directory.searches);
    }
    await session.numbers.read();
    const { asOf, status } = this;
    if (isQuiet || session.containers.hasMoved || pendingChanges.hasFinding) {
      // Changes in transit are older than the entries that are read again, and must not be applied after
      // them.
      const late = await this.receive(session, IN_FLIGHT_MS);
      if (typeof late === 'object') return late;
    }
    const reached = { position: session.position(), asOf, ...(status && { status }) };
    // There may be no pending changes. Then this only confirms that the mirror is current.
    const held = session.containers.takeMoved()
      ? await pendingChanges.compareNow(reached)
      : await pendingChanges.applyRechecks(reached);
    return held ?? pendingChanges.takeOver(reached);
  }

  /**
   * Adds the next changes.
   * @returns whether there were any, or the outcome if some of them are held
   */
  private async receive(session: ContentSession, timeoutMs: number): Promise<boolean | SyncOutcome> {
    const before = { position: session.position(), asOf: this.asOf };
    if (!(await session.waitForChanges(timeoutMs))) return false;
    await this.readStatus();
    const changes = await session.nextChanges();
    this.pendingChanges.add(changes.delta);
    return (await this.pendingChanges.readAgain(changes.unread, before)) ?? true;
  }

  /**
   * Reads the state of the mirror.
   * @throws PositionReplacedError if its position is not that of this session, as after a restore of the database: changes between
   * the two would be missing
   */
  private async readStatus(): Promise<void> {
    this.status = await this.dependencies.state.get();
    if (!isSamePosition(this.status.position, this.pendingChanges.storedPosition))
      throw new PositionReplacedError();
    this.asOf = this.status.now;
  }
}

async function* notingRefusals<Item>(
  items: AsyncIterable<Item>,
  refusals: ContentSyncRefusedError[],
): AsyncGenerator<Item> {
  try {
    yield* items;
  } catch (error) {
    if (error instanceof ContentSyncRefusedError) refusals.push(error);
    throw error;
  }
}
