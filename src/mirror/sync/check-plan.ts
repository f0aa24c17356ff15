import type { DirectoryConfig } from '../../config/settings/directory.js';
import type { Writer } from '../../database/statements/statement.js';
import {
  describeBehind,
  describeHidden,
  parsePosition,
  reachedOf,
  stateOf,
} from '../../sources/ldap/position.js';
import { describeLosses, type LossCounts } from '../plan/attribute-losses.js';
import { deletesAnything, guardPlan } from '../plan/deletion-guard.js';
import type { Plan } from '../plan/plan.js';
import { countRecentlyDeleted, countStored } from '../plan/stored.js';
import type { MirrorStatus } from '../status/mirror-state.js';

/**
 * Checks a plan with the deletion guard.
 * @returns the reason why the plan is held, or null if it may be applied
 */
export async function checkPlan(
  manager: Writer,
  plan: Plan,
  lost: LossCounts,
  { before, now, directory }: { before: MirrorStatus; now: Date; directory: DirectoryConfig },
): Promise<string | null> {
  const isFirst = before.revision === null;
  if (!isFirst && !deletesAnything(plan) && Object.keys(lost).length === 0) return null;
  const { percent, windowSeconds } = directory.guard;
  const since = new Date(now.getTime() - windowSeconds * 1000);
  const facts = {
    isFirst,
    stored: await countStored(manager),
    recentlyDeleted: await countRecentlyDeleted(manager, since),
    losses: await describeLosses(manager, lost, directory.mapping, since),
  };
  return guardPlan(plan, facts, percent);
}

/** Describes how the server that was read is behind the mirror, or null if it is not, as far as is known. */
export function findBehind(
  { position, fingerprint }: MirrorStatus,
  reading: Pick<MirrorStatus, 'position' | 'fingerprint'>,
): string | null {
  const known = stateOf(parsePosition(position));
  const reached = reachedOf(parsePosition(reading.position));
  const behind = describeBehind(known, reached);
  if (behind !== null || reading.fingerprint !== fingerprint) return behind;
  // A replication consumer that is still being filled publishes no state and lacks entries.
  return describeHidden(known, reached);
}
