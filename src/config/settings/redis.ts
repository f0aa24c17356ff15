import { parseUrl } from '../../common/url.js';
import { secret, setting, type ValuesOf } from '../setting.js';
import { certificates, text } from '../value-kinds.js';

const redisUrl = text.refine(isRedisUrl, {
  error: 'must be redis://:password@host:port or rediss://…, with the number of a database if need be',
});

function isRedisUrl(value: string): boolean {
  const url = /^rediss?:\/\/[^/?#]+(\/\d{0,5})?$/.test(value) ? parseUrl(value) : null;
  if (url === null || url.hostname === '') return false;
  try {
    decodeURIComponent(`${url.username}:${url.password}`);
    return true;
  } catch {
    return false; // A percent sign that starts no valid escape.
  }
}

/** Settings of Redis, through which several processes share their limits. */
export const REDIS_SETTINGS = {
  REDIS_URL: secret(
    redisUrl.optional(),
    'Redis in which several processes count their limits together. Empty: each process counts alone.',
  ),
  REDIS_PREFIX: setting(
    text.optional(),
    'Prefix of the keys in Redis. Default: directory, and host and path of BASE_URL if that is set.',
  ),
  REDIS_CA_FILE: setting(
    certificates.optional(),
    'PEM file with the certificate authorities of a rediss:// server. Default: those of Node.js.',
  ),
};

export interface RedisConfig {
  /** Includes the password. */
  readonly url: string;
  /** Prefix of every key, followed by a colon. */
  readonly prefix: string;
  /** Certificates of the trusted authorities, as PEM. Null: the authorities that Node.js trusts. */
  readonly certificates: string | null;
}

/** @param baseUrl the configured value */
export function buildRedis(
  settings: ValuesOf<typeof REDIS_SETTINGS>,
  baseUrl: string | undefined,
): RedisConfig | null {
  if (settings.REDIS_URL === undefined) return null;
  // Without BASE_URL, replicas on different ports count as one installation.
  const { host, pathname } = new URL(baseUrl ?? 'http://directory');
  const own = `directory:${host}${pathname.replace(/\/+$/, '')}`;
  return {
    url: settings.REDIS_URL,
    prefix: settings.REDIS_PREFIX ?? (baseUrl === undefined ? 'directory' : own),
    certificates: settings.REDIS_CA_FILE ?? null,
  };
}
