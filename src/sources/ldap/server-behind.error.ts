import { SourceError } from '../source.error.js';

/**
 * The server lacks changes that are already mirrored: it lags behind another server, or was restored from a
 * backup.
 */
export class ServerBehindError extends SourceError {}
