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

/** Why a server cannot be used, for the log. Socket errors may have a code but no message. */
export function reasonOf(error: unknown): string {
  const { message = '', code } = error as { message?: string; code?: string };
  return message === '' ? (code ?? 'no answer') : message;
}
