import type { IncomingMessage } from 'node:http';

/** Characters of a field that is parsed: what clients mean is shorter by far, and parsing takes longer than reading. */
export const LONGEST_PARSED_FIELD = 1000;

/** Fields that this service, or what it is built from, takes apart. */
const PARSED = [
  'accept',
  'accept-charset',
  'accept-encoding',
  'accept-language',
  'access-control-request-headers',
  'access-control-request-method',
  'cache-control',
  'connection',
  'content-encoding',
  'content-type',
  'expect',
  'forwarded',
  'host',
  'if-match',
  'if-modified-since',
  'if-none-match',
  'origin',
  'range',
  'te',
  'traceparent',
  'tracestate',
  'transfer-encoding',
  'upgrade',
  'x-forwarded-for',
  'x-forwarded-host',
  'x-forwarded-proto',
  'x-request-id',
] as const;

/** Names and values in turn, and by name, as Node gives them. */
type RequestFields = Pick<IncomingMessage, 'rawHeaders' | 'headers'>;

/** What is wrong with the fields of a request; null: nothing. */
export type FieldProblem = 'repeated' | 'too long';

/**
 * Looks at the fields of a head before anything is made of them. Several fields of one name are parsed as one, so that their
 * length together counts. Node keeps the first of two fields that must stand once,
 * and a proxy in front may keep the other one (RFC 9112 §3.2, RFC 9110 §5.3).
 */
export function findFieldProblem({ rawHeaders, headers }: RequestFields): FieldProblem | null {
  let [hosts, types, length] = [0, 0, 0];
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const name = rawHeaders[index] ?? '';
    length += rawHeaders[index + 1]?.length ?? 0;
    if (name.length === 4 && name.toLowerCase() === 'host') hosts++;
    else if (name.length === 12 && name.toLowerCase() === 'content-type') types++;
  }
  // Most heads are shorter as a whole.
  if (length > LONGEST_PARSED_FIELD && PARSED.some((name) => isLong(headers[name]))) return 'too long';
  return hosts > 1 || types > 1 ? 'repeated' : null;
}

function isLong(value: string | string[] | undefined): boolean {
  return value !== undefined && value.length > LONGEST_PARSED_FIELD;
}
