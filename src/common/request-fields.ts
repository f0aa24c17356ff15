/** Characters of a field that is parsed: what clients mean is shorter by far, and parsing takes longer than reading. */
export const LONGEST_PARSED_FIELD = 1000;

/** Fields that this service, or what it is built from, takes apart. */
const PARSED = new Set([
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
]);

/** What is wrong with the fields of a request; null: nothing. */
export type FieldProblem = 'repeated' | 'too long';

/**
 * Looks at the fields of a head before anything is made of them. Node keeps the first of two fields that must stand once,
 * and a proxy in front may keep the other one (RFC 9112 §3.2, RFC 9110 §5.3).
 * @param rawHeaders names and values in turn, as Node gives them
 */
export function findFieldProblem(rawHeaders: readonly string[]): FieldProblem | null {
  let [hosts, types] = [0, 0];
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const name = rawHeaders[index] ?? '';
    const value = rawHeaders[index + 1] ?? '';
    if (name.length === 4 && name.toLowerCase() === 'host') hosts++;
    else if (name.length === 12 && name.toLowerCase() === 'content-type') types++;
    if (value.length > LONGEST_PARSED_FIELD && PARSED.has(name.toLowerCase())) return 'too long';
  }
  return hosts > 1 || types > 1 ? 'repeated' : null;
}
