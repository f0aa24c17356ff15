import { SourceError } from '../source.error.js';

/** The server does not have changes that are mirrored already: it lags behind another one, or was restored from a backup. */
export class ServerBehindError extends SourceError {}
