/** The database cannot be used at all. The operator gets one line of explanation, and the process ends. */
export class DatabaseStartError extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = 'DatabaseStartError';
  }
}

/** The database does not answer, or not at the moment. The caller may retry. */
export class DatabaseAwayError extends DatabaseStartError {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = 'DatabaseAwayError';
  }
}
