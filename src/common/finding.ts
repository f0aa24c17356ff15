export interface Finding {
  readonly what: string;
  /** A problem prevents the service from working and must be fixed. A warning should be fixed. */
  readonly result: 'ok' | 'warning' | 'problem';
  readonly text: string | null;
  /** What decides the remedy: a code of the system, of TLS, LDAP or SQL, or the name of an error. */
  readonly cause?: string | undefined;
}

export function ok(what: string, text: string | null = null): Finding {
  return { what, result: 'ok', text };
}

export function warning(what: string, text: string, cause?: string): Finding {
  return { what, result: 'warning', text, cause };
}

export function problem(what: string, text: string, cause?: string): Finding {
  return { what, result: 'problem', text, cause };
}

/** The code of the innermost error that has one, such as ECONNREFUSED; undefined if there is none. */
export function codeOf(error: unknown): string | undefined {
  if (typeof error !== 'object' || error === null) return undefined;
  // Errors of Node.js are of another realm in tests.
  const { code, cause } = error as NodeJS.ErrnoException;
  return codeOf(cause) ?? (typeof code === 'string' ? code : undefined);
}
