import type { MirrorStatus } from '../status/mirror-state.js';

/** The position and time of the mirror after all pending changes have been applied. */
export interface Reached {
  readonly position: string | null;
  readonly asOf: Date;
  /** The state of the mirror before they are completed, if it is known. */
  readonly status?: MirrorStatus;
}
