import { setting, type ValuesOf } from '../setting.js';
import { integer } from '../value-kinds.js';

/** How much may be asked for, and how much is kept in memory. */
export const LIMITS_SETTINGS = {
  LIMIT_DEPTH: setting(integer(1, 100, 12), 'Levels that an operation may nest'),
  LIMIT_ALIASES: setting(integer(0, 1000, 30), 'Aliases that an operation may have'),
  LIMIT_DIRECTIVES: setting(integer(0, 1000, 50), 'Directives that an operation may have'),
  LIMIT_ROOT_FIELDS: setting(integer(1, 1000, 20), 'Root fields that an operation may have'),
  LIMIT_TOKENS: setting(integer(10, 100_000, 1000), 'Tokens that a document may have'),
  LIMIT_BODY_BYTES: setting(integer(1000, 10_000_000, 100_000), 'Bytes that a request body may have'),
  LIMIT_REQUEST_SECONDS: setting(integer(1, 3600, 30), 'Seconds in which all of a request has to arrive'),
  LIMIT_CONNECTIONS: setting(
    integer(1, 1_000_000, 5000),
    'Connections that one process has open at once: more are closed at once',
  ),
  LIMIT_NODES: setting(integer(1, 1_000_000, 10_000), 'Nodes that an operation may ask for'),
  LIMIT_POINTS_PER_HOUR: setting(
    integer(1, 999_999_999, 5000),
    'Points that a principal may spend in an hour',
  ),
  LIMIT_REQUESTS_PER_MINUTE: setting(
    integer(1, 999_999_999, 300),
    'Requests that a principal may make in a minute',
  ),
  LIMIT_FAILED_LOGINS: setting(
    integer(1, 999_999_999, 10),
    'Logins that may fail in 15 minutes from one address',
  ),
  LIMIT_PREVIEWS: setting(
    integer(1, 200, 16),
    'Previews that one process works on at once, each on its own connection to PostgreSQL',
  ),
  ANSWER_CACHE_MEGABYTES: setting(
    integer(0, 100_000, 128),
    'Megabytes of answers that a process remembers at most, each until the mirror changes; 0: none',
  ),
};

export interface LimitsConfig {
  readonly depth: number;
  readonly aliases: number;
  readonly directives: number;
  readonly rootFields: number;
  readonly tokens: number;
  readonly bodyBytes: number;
  readonly requestSeconds: number;
  readonly connections: number;
  readonly nodes: number;
  readonly pointsPerHour: number;
  readonly requestsPerMinute: number;
  readonly failedLogins: number;
  readonly answerCacheMegabytes: number;
}

export function buildLimits(settings: ValuesOf<typeof LIMITS_SETTINGS>): LimitsConfig {
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
    answerCacheMegabytes: settings.ANSWER_CACHE_MEGABYTES,
  };
}
