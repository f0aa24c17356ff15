import { readClock } from '../../database/statements/statement.js';
import type { LdapConnection } from '../../ldap/client/ldap-connection.js';
import type { ChangeNumbers } from '../../sources/ldap/change-numbers.js';
import { ContainerWatch } from '../../sources/ldap/container-watch.js';
import { isContainer } from '../../sources/ldap/entry-searches.js';
import { type NumberedState, withKnownNumbers } from '../../sources/ldap/numbered-state.js';
import { formatPosition, type Position } from '../../sources/ldap/position.js';
import type { FollowDependencies } from './follow-dependencies.js';
import type { PendingChanges } from './pending-changes.js';
import type { Reached } from './reached.js';
import { type MirrorStatus, SyncState } from '../status/mirror-state.js';
import type { SyncOutcome } from '../sync/outcome.js';

type CountedPosition = Extract<Position, { kind: 'count' }>;

/**
 * The next comparison of all identities waits for this multiple of the duration of the last one, or only for the interval of polls
 * and the shorter multiple.
 */
const COMPARISON_REST_FACTOR = 30;
const LEAST_COMPARISON_REST_FACTOR = 9;

/** Keeps the mirror synchronized with a server that numbers its changes, over one connection. */
export class CountedChanges {
  private readonly containers = new ContainerWatch();
  /** Time from which identities may be compared again, on the clock of performance.now(). */
  private restsUntil = -Infinity;
  /** Time at which the mirror was last recorded as current, on the same clock. */
  private confirmedAt = -Infinity;

  constructor(
    private readonly dependencies: FollowDependencies,
    private readonly connection: LdapConnection,
    private readonly numbers: ChangeNumbers,
    private readonly pendingChanges: PendingChanges,
  ) {}

  /**
   * Applies what has changed since a position.
   * @returns null if the position does not belong to the numbers of this server: everything has to be read
   */
  async take(before: MirrorStatus, position: CountedPosition): Promise<SyncOutcome | null> {
    this.pendingChanges.storedPosition = before.position;
    const asOf = await readClock(this.dependencies.manager);
    const now = await this.numbers.read();
    if (now === null || !continues(position, now)) return null;
    if (!this.isDue(before, position, now)) return { kind: 'unchanged' };
    const unmoved = { position: before.position, asOf: before.asOf ?? asOf };
    const { entries, isComplete } = await this.numbers.readChanges(position, now);
    for (const { uuid, entry } of entries) if (isContainer(entry)) this.noteContainer(uuid, entry);
    const changed = new Set(entries.map(({ uuid }) => uuid));
    const held = await this.pendingChanges.readChanged([...changed], unmoved);
    if (held !== null) return held;
    const isDoubtful = this.containers.takeMoved() || position.isDoubtful || !isComplete;
    const { outcome, isCompared } = await this.compare(before.state, isDoubtful, unmoved);
    if (outcome !== null) return outcome;
    const included = await this.numbers.readNeeded(now);
    const reached = withKnownNumbers({ ...now, included }, position);
    return this.conclude({ ...reached, isDoubtful: isDoubtful && !isCompared }, { before, asOf });
  }

  /** @param given the state before the changes, and the time before they were read */
  private async conclude(
    reached: Omit<CountedPosition, 'kind' | 'refusals'>,
    { before, asOf }: { before: MirrorStatus; asOf: Date },
  ): Promise<SyncOutcome> {
    this.confirmedAt = performance.now();
    const refusals = this.dependencies.directory.refusals(this.connection);
    for (const risk of refusals) this.dependencies.reporter.reportRisk(risk);
    return this.pendingChanges.takeOver({
      position: formatPosition({ kind: 'count', ...reached, refusals }),
      // Deletions can be missing until the identities are compared.
      asOf: reached.isDoubtful ? (before.asOf ?? asOf) : asOf,
    });
  }

  private isDue({ state }: MirrorStatus, position: CountedPosition, now: NumberedState): boolean {
    const time = performance.now();
    const hasMoved = Object.entries(now.latest).some(
      ([suffix, latest]) => latest !== position.latest[suffix],
    );
    if (hasMoved || state !== SyncState.IDLE || this.pendingChanges.millisecondsUntilDue === 0) return true;
    if (position.isDoubtful && time >= this.restsUntil) return true;
    return time - this.confirmedAt >= this.dependencies.config.syncSeconds * 1000;
  }

  /** A renamed container moves the entries below it, which get no number. */
  private noteContainer(uuid: string, entry: Parameters<typeof isContainer>[0]): void {
    this.containers.note({ kind: 'entry', uuid, entry, cookie: null });
  }

  /** Finds deletions that no number shows, and differences of an earlier failure. */
  private async compare(
    state: SyncState,
    isDoubtful: boolean,
    before: Reached,
  ): Promise<{ outcome: SyncOutcome | null; isCompared: boolean }> {
    const { pendingChanges } = this;
    if (state !== SyncState.IDLE)
      return { outcome: await pendingChanges.compareAfterTrouble(before), isCompared: true };
    const begun = performance.now();
    if (!isDoubtful || pendingChanges.hasFinding || begun < this.restsUntil)
      return { outcome: await pendingChanges.applyRechecks(before), isCompared: false };
    const outcome = await pendingChanges.compareNow(before);
    const spent = performance.now() - begun;
    const least = Math.max(this.dependencies.config.syncSeconds * 1000, spent * LEAST_COMPARISON_REST_FACTOR);
    this.restsUntil = begun + spent + Math.min(spent * COMPARISON_REST_FACTOR, least);
    return { outcome, isCompared: true };
  }
}

/** Whether the numbers of a server continue those of a position: they are of the same origin, and none went back. */
function continues(position: CountedPosition, now: NumberedState): boolean {
  const suffixes = Object.keys(now.latest);
  if (position.origin !== now.origin || suffixes.length !== Object.keys(position.latest).length) return false;
  return suffixes.every((suffix) => (now.latest[suffix] ?? 0) >= (position.latest[suffix] ?? Infinity));
}
