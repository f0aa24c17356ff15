/** The database cannot be used at all: told to the operator in one line, and the process ends. */
export class DatabaseStartError extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = 'DatabaseStartError';
  }
}

/** It does not answer, or not now: it may be waited for. */
export class DatabaseAwayError extends DatabaseStartError {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = 'DatabaseAwayError';
  }
}
