export interface Finding {
  readonly what: string;
  /** A problem prevents the service from working and must be fixed. A warning should be fixed. */
  readonly result: 'ok' | 'warning' | 'problem';
  readonly text: string | null;
  /** What decides the remedy: a code of the system, of TLS, LDAP or SQL, or the name of an error. */
  readonly cause?: string | undefined;
}

const finding =
  (result: Finding['result']) =>
  (what: string, text: string, cause?: string): Finding => ({ what, result, text, cause });

export const ok = (what: string, text: string | null = null): Finding => ({ what, result: 'ok', text });
export const warning = finding('warning');
export const problem = finding('problem');

/** The code of the innermost error that has one, such as ECONNREFUSED; undefined if there is none. */
export function codeOf(error: unknown): string | undefined {
  if (typeof error !== 'object' || error === null) return undefined;
  // Errors of Node.js are of another realm in tests.
  const { code, cause } = error as NodeJS.ErrnoException;
  return codeOf(cause) ?? (typeof code === 'string' ? code : undefined);
}
