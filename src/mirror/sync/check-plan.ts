import type { DirectoryConfig } from '../../config/settings/directory.js';
import type { Writer } from '../../database/statements/statement.js';
import { numbersOf } from '../../sources/ldap/known-numbers.js';
import { describeLag } from '../../sources/ldap/numbered-state.js';
import {
  describeBehind,
  describeHidden,
  parsePosition,
  reachedOf,
  stateOf,
} from '../../sources/ldap/position.js';
import { describeLosses, type LossCounts } from '../plan/attribute-losses.js';
import { deletesAnything, guardPlan } from '../plan/deletion-guard.js';
import { changesNothing, type PlanSummary } from '../plan/plan.js';
import { ServerBehindError } from '../../sources/source.error.js';
import type { Planned } from './planned.js';
import { countForGuard } from '../plan/stored-counts.js';
import type { MirrorStatus } from '../status/mirror-state.js';

/**
 * Checks a plan with the deletion guard.
 * @returns the reason why the plan is held, or null if it may be applied
 */
async function checkPlan(
  manager: Writer,
  summary: PlanSummary,
  lost: LossCounts,
  { before, now, directory }: { before: MirrorStatus; now: Date; directory: DirectoryConfig },
): Promise<string | null> {
  const isFirst = before.revision === null;
  if (!isFirst && !deletesAnything(summary) && Object.keys(lost).length === 0) return null;
  const { percent, windowSeconds } = directory.guard;
  const since = new Date(now.getTime() - windowSeconds * 1000);
  const facts = {
    isFirst,
    ...(await countForGuard(manager, since, summary.removals, percent)),
    losses: await describeLosses(manager, lost, directory.mapping, since),
  };
  return guardPlan(summary, facts, percent);
}

/** Describes how the server that was read is behind the mirror, or null if it is not, as far as is known. */
function findBehind(
  { position, fingerprint }: MirrorStatus,
  reading: Pick<MirrorStatus, 'position' | 'fingerprint'>,
): string | null {
  const before = parsePosition(position);
  const after = parsePosition(reading.position);
  const known = stateOf(before);
  const reached = reachedOf(after);
  const behind = describeLag(numbersOf(before), numbersOf(after)) ?? describeBehind(known, reached);
  if (behind !== null || reading.fingerprint !== fingerprint) return behind;
  // A replication consumer that is still being filled publishes no state and lacks entries.
  return describeHidden(known, reached);
}

interface Held {
  readonly before: MirrorStatus;
  readonly reading: Pick<MirrorStatus, 'position' | 'fingerprint'> & { readonly asOf: Date };
  readonly directory: DirectoryConfig;
  /** What happens to a plan of a server that lacks some of the mirrored changes. */
  readonly whenBehind: 'hold' | 'fail' | undefined;
}

/**
 * Returns the reason why a plan is held, or null if it may be applied.
 * @throws ServerBehindError
 */
export async function findReasonToHold(
  manager: Writer,
  { findings: { summary }, lost }: Planned,
  { before, reading, directory, whenBehind }: Held,
): Promise<string | null> {
  const behind = changesNothing(summary) ? null : findBehind(before, reading);
  if (behind === null) return checkPlan(manager, summary, lost, { before, now: reading.asOf, directory });
  if (whenBehind === 'fail') throw new ServerBehindError(behind);
  return `${behind}. It lags, or it was restored from a backup, and the mirror would lose newer changes`;
}
