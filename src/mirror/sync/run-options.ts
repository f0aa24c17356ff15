import type { Delta } from '../../sources/delta.js';
import type { Progress } from './read-entries.js';
import type { MirrorStatus } from '../status/mirror-state.js';

export interface RunOptions {
  /** Only plans, and changes nothing. */
  readonly dryRun?: boolean;
  /** The hash of a plan to apply although the deletion guard holds it. It must still be the current plan. */
  readonly confirm?: string;
  /** Reads the source even if its fingerprint is unchanged. */
  readonly force?: boolean;
  /** What happens to a plan of a server that lacks some of the mirrored changes. By default, it is held. */
  readonly whenBehind?: 'hold' | 'fail';
  /** Ends the run early and discards its results. */
  readonly signal?: AbortSignal;
  readonly progress?: Progress;
  /** The number of entries above which the run is one in bulk. */
  readonly bulkLimit?: number;
}

/** Changes of a source. */
export interface Advance {
  readonly delta: Delta;
  /** Every change made before this instant is in the delta. */
  readonly asOf: Date;
  readonly position: string | null;
  /** The position that the mirror must have, because the changes continue from there. Undefined: each is right. */
  readonly from?: string | null | undefined;
  readonly signal: AbortSignal;
  /** The state of the mirror before the changes were completed. Default: it is read. */
  readonly before?: MirrorStatus | undefined;
  /** The server's stamps of the changed entries, by entryUUID. */
  readonly stamps?: ReadonlyMap<string, string>;
  /** The fingerprint of the source with these changes. Default: that of a server. */
  readonly fingerprint?: string;
  /** What happens to changes of a server that lacks some of the mirrored ones. Default: they are held. */
  readonly whenBehind?: 'hold' | 'fail';
}
