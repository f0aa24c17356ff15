import type { PresetName } from '../config/model/presets/presets.js';
import type { FollowerState } from './status/follower-state.js';

/** What keeps the mirror synchronized: this process (LocalFollowing), or one that it starts (FollowerProcess) or that others start. */
export abstract class MirrorFollowing {
  /** Resolves with the kind of the server if it differs from the one whose preset applies. */
  abstract readonly otherServer: Promise<PresetName>;

  /**
   * Starts to keep the mirror synchronized. Resolves after the first run, or when the follower has to wait for another
   * process or for the database.
   */
  abstract start(): Promise<void>;

  /** Null while the state is unknown. */
  abstract readState(): Promise<FollowerState | null>;
}
