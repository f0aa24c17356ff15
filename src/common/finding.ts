export interface Finding {
  readonly what: string;
  /** A problem prevents the service from working and must be fixed. A warning should be fixed. */
  readonly result: 'ok' | 'warning' | 'problem';
  /** Details of the item, or a description of the fault and its fix. */
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
