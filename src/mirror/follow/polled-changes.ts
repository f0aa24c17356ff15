import { readClock } from '../../database/statements/statement.js';
import type { LdapConnection } from '../../ldap/client/ldap-connection.js';
import { DirectoryClock, sinceAfter } from '../../sources/ldap/directory-clock.js';
import type { FollowDependencies } from './follow-dependencies.js';
import { formatPosition, mergeStates, type Position, whereShown } from '../../sources/ldap/position.js';
import { compareWithServer } from '../../sources/ldap/server-state.js';
import { ShownNumbers } from '../../sources/ldap/shown-numbers.js';
import { ServerBehindError } from '../../sources/source.error.js';
import type { PendingChanges } from './pending-changes.js';
import type { Reached } from './reached.js';
import { type MirrorStatus, SyncState } from '../status/mirror-state.js';
import type { SyncOutcome } from '../sync/outcome.js';

type TimedPosition = Extract<Position, { kind: 'look' }>;
export type PolledPosition = Extract<Position, { kind: 'look' | 'hash' }>;

/** Keeps the mirror synchronized with a server that is polled, over one connection. */
export class PolledChanges {
  constructor(
    private readonly dependencies: FollowDependencies,
    private readonly connection: LdapConnection,
    private readonly pendingChanges: PendingChanges,
  ) {}

  /**
   * Applies what has changed since the last poll.
   * @param position the position at the end of the last poll
   * @param isLater whether the last poll ended at least one second ago
   * @returns the outcome, or that of a plan that is held
   * @throws ServerBehindError if the position is from a server that was ahead of this one
   */
  async take(before: MirrorStatus, position: PolledPosition, isLater: boolean): Promise<SyncOutcome> {
    const { connection, pendingChanges } = this;
    const { directory, manager, reporter } = this.dependencies;
    pendingChanges.storedPosition = before.position;
    const asOf = await readClock(manager);
    const { changed, next } =
      position.kind === 'hash' ? { changed: [], next: position } : await this.listChanged(position, isLater);
    const unmoved = { position: unmovedPosition(before, position, next), asOf: before.asOf ?? asOf };
    const tooMuch = await pendingChanges.readAgain(changed, unmoved);
    // A background comparison may have ended before the latest deletions: they are found by the next poll.
    const isCompared = before.state !== SyncState.IDLE || !pendingChanges.hasFinding;
    const held = tooMuch ?? (await this.compare(before.state, isCompared, unmoved));
    const refusals = directory.refusals(connection);
    for (const risk of refusals) reporter.reportRisk(risk);
    if (held !== null) return held;
    const numbers = await ShownNumbers.of(directory, connection, position);
    const reached = { ...next, refusals, ...(await numbers.read()) };
    return pendingChanges.takeOver({
      position: formatPosition(reached),
      asOf: isCompared ? asOf : unmoved.asOf,
    });
  }

  /** The entries with a later time, and the next position. */
  private async listChanged(
    position: TimedPosition,
    isLater: boolean,
  ): Promise<{ changed: readonly string[]; next: TimedPosition }> {
    const { connection } = this;
    const { config, directory } = this.dependencies;
    const { state, behind } = await compareWithServer(connection, directory.searches, position.state);
    if (behind !== null) throw new ServerBehindError(behind);
    const changed = new Set<string>();
    const clock = new DirectoryClock(config.mapping.users.modifiedAt, position.latest);
    for await (const { uuid, entry } of directory.listChangedSince(connection, position.since)) {
      changed.add(uuid);
      clock.note(entry);
    }
    const { latest } = clock;
    const since = sinceAfter(position, latest, isLater);
    // After a crash, the contextCSN stays older than what was read until the next change.
    const known = mergeStates(state, position.state);
    // A server that hides a state which it showed before may lack changes: see findBehind in check-plan.ts.
    const reached = whereShown(known, state);
    const next = { kind: 'look', state: known, reached, since, latest } as const;
    return { changed: [...changed], next };
  }

  /** The modification time shows neither deleted nor renamed entries, so a comparison is necessary. */
  private async compare(state: SyncState, isCompared: boolean, before: Reached): Promise<SyncOutcome | null> {
    const { pendingChanges } = this;
    if (state !== SyncState.IDLE) return pendingChanges.compareAfterTrouble(before);
    const held = await pendingChanges.applyRechecks(before);
    return held !== null || !isCompared ? held : pendingChanges.compareNow(before);
  }
}

/** The position with a part of the changes: the next poll begins where this one did, with a server that shows what this one does. */
function unmovedPosition(
  { position: stored }: MirrorStatus,
  position: PolledPosition,
  next: PolledPosition,
): string | null {
  return position.kind === 'look' && next.kind === 'look'
    ? formatPosition({ ...position, reached: next.reached })
    : stored;
}
