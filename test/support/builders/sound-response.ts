import { ERROR_CODES } from '../../../src/common/errors.js';
import type { HttpAnswer } from '../clients/http.js';

/** Statuses that only picture responses have. */
const CODES: readonly string[] = [...ERROR_CODES, 'SIGNATURE_INVALID', 'URL_EXPIRED'];

interface Body {
  readonly code?: unknown;
  readonly errors?: readonly {
    readonly message?: unknown;
    readonly extensions?: { readonly code?: unknown };
  }[];
}

/**
 * Checks that a response is one that clients can handle, for any request.
 * @throws Error for internal errors, invalid JSON, and codes that are not on the list
 */
export function expectSound({ status, body }: HttpAnswer): void {
  const fail = (what: string) => {
    throw new Error(`${what}: ${status} ${body.slice(0, 500)}`);
  };
  if (status >= 500) fail('A failure');
  let parsed: Body | null = null;
  try {
    parsed = JSON.parse(body) as Body;
  } catch {
    fail('No JSON');
  }
  const { errors, code } = parsed ?? {};
  if (status >= 400 && code === undefined && (errors ?? []).length === 0) fail('A refusal without an error');
  const codes = [
    ...(code === undefined ? [] : [code]),
    ...(errors ?? []).map(({ extensions }) => extensions?.code),
  ];
  for (const each of codes) {
    if (!CODES.includes(String(each)) || each === 'INTERNAL_SERVER_ERROR') fail(`The code ${String(each)}`);
  }
}
