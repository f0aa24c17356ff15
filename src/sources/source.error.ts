import type { PresetName } from '../config/model/presets/presets.js';

/**
 * The source cannot be mirrored. The message is shown to all clients, so it contains nothing from the
 * directory.
 */
export class SourceError extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = 'SourceError';
  }
}

/** The server lacks mirrored changes: it lags behind another server, or was restored from a backup. To apply it would undo them. */
export class ServerBehindError extends SourceError {
  /** @param state its contextCSN: whether it moves */
  constructor(
    message: string,
    readonly state: string,
  ) {
    super(message);
  }
}

/** The server is of another kind than the one whose preset applies. */
export class OtherServerError extends SourceError {
  constructor(
    readonly kind: PresetName,
    expected: PresetName,
  ) {
    super(`The directory server is of the kind ${kind}, and no longer of the kind ${expected}`);
    this.name = 'OtherServerError';
  }
}
