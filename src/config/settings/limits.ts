import { integer, setting, type ValuesOf } from '../setting.js';

const limit = (minimum: number, maximum: number, otherwise: number, description: string) =>
  setting(integer(minimum, maximum, otherwise), description);

export const LIMITS_SETTINGS = {
  LIMIT_DEPTH: limit(1, 100, 12, 'Maximum nesting depth of an operation.'),
  LIMIT_ALIASES: limit(0, 1000, 30, 'Maximum number of aliases in an operation.'),
  LIMIT_DIRECTIVES: limit(0, 1000, 50, 'Maximum number of directives in an operation.'),
  LIMIT_ROOT_FIELDS: limit(1, 1000, 20, 'Maximum number of root fields in an operation.'),
  LIMIT_TOKENS: limit(10, 100_000, 1000, 'Maximum number of tokens in a GraphQL document.'),
  LIMIT_BODY_BYTES: limit(1000, 10_000_000, 100_000, 'Maximum size of a request body, in bytes.'),
  LIMIT_REQUEST_SECONDS: limit(1, 3600, 30, 'Seconds within which a request must arrive completely.'),
  LIMIT_CONNECTIONS: limit(
    1,
    1_000_000,
    5000,
    'Maximum number of open client connections. Workers share them. More are closed at once.',
  ),
  LIMIT_NODES: limit(1, 1_000_000, 20_000, 'Maximum number of nodes that an operation can request.'),
  LIMIT_POINTS_PER_HOUR: limit(1, 999_999_999, 5000, 'Points that one principal can spend in an hour.'),
  LIMIT_REQUESTS_PER_MINUTE: limit(1, 999_999_999, 300, 'Requests that one principal can send in a minute.'),
  LIMIT_FAILED_LOGINS: limit(
    1,
    999_999_999,
    10,
    'Failed logins from one address within 15 minutes before further ones are rejected.',
  ),
  LIMIT_PREVIEWS: limit(
    1,
    200,
    16,
    'Maximum number of previews at the same time, of one principal half of it. Workers share them.',
  ),
  LIMIT_STREAMS: limit(0, 1_000_000, 4000, 'Maximum number of open streams of changes. Workers share them.'),
  LIMIT_STREAMS_PER_PRINCIPAL: limit(
    1,
    1_000_000,
    20,
    'Maximum number of open streams of changes of one principal, in each worker.',
  ),
  RESPONSE_CACHE_MEGABYTES: limit(
    0,
    100_000,
    128,
    'Maximum size of the response cache of each worker, in megabytes. 0: no cache.',
  ),
};

export type LimitsConfig = ReturnType<typeof buildLimits>;

export function buildLimits(settings: ValuesOf<typeof LIMITS_SETTINGS>) {
  return {
    depth: settings.LIMIT_DEPTH,
    aliases: settings.LIMIT_ALIASES,
    directives: settings.LIMIT_DIRECTIVES,
    rootFields: settings.LIMIT_ROOT_FIELDS,
    tokens: settings.LIMIT_TOKENS,
    bodyBytes: settings.LIMIT_BODY_BYTES,
    requestSeconds: settings.LIMIT_REQUEST_SECONDS,
    connections: settings.LIMIT_CONNECTIONS,
    nodes: settings.LIMIT_NODES,
    pointsPerHour: settings.LIMIT_POINTS_PER_HOUR,
    requestsPerMinute: settings.LIMIT_REQUESTS_PER_MINUTE,
    failedLogins: settings.LIMIT_FAILED_LOGINS,
    streams: settings.LIMIT_STREAMS,
    streamsPerPrincipal: settings.LIMIT_STREAMS_PER_PRINCIPAL,
    responseCacheMegabytes: settings.RESPONSE_CACHE_MEGABYTES,
  };
}
