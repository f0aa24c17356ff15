/** One thing that was looked at, and what was found. */
export interface Finding {
  readonly what: string;
  /** A problem has to be mended before the service can do its work; a warning had better be. */
  readonly result: 'ok' | 'warning' | 'problem';
  /** What is there, or what is wrong and what to do about it. */
  readonly text: string | null;
}

export function ok(what: string, text: string | null = null): Finding {
  return { what, result: 'ok', text };
}

export function warning(what: string, text: string): Finding {
  return { what, result: 'warning', text };
}

export function problem(what: string, text: string): Finding {
  return { what, result: 'problem', text };
}
