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
    return false; // A percent sign that means nothing.
  }
}

/** What several processes share their limits through. */
export const REDIS_SETTINGS = {
  REDIS_URL: secret(
    redisUrl.optional(),
    'Redis that several processes share their limits through. Empty: each process counts on its own',
  ),
  REDIS_PREFIX: setting(
    text.optional(),
    'What keys in Redis begin with. Default: directory, and host and path of BASE_URL where that is set',
  ),
  REDIS_CA_FILE: setting(
    certificates.optional(),
    'File with the certificates (PEM) that a rediss:// server may be signed by. Default: those Node.js trusts',
  ),
};

export interface RedisConfig {
  /** With its password. */
  readonly url: string;
  /** What every key begins with, before a colon. */
  readonly prefix: string;
  /** Certificates of the authorities to trust, as PEM; null: those that Node.js trusts. */
  readonly certificates: string | null;
}

/** @param baseUrl as it was set */
export function buildRedis(
  settings: ValuesOf<typeof REDIS_SETTINGS>,
  baseUrl: string | undefined,
): RedisConfig | null {
  if (settings.REDIS_URL === undefined) return null;
  // Replicas on ports of their own are one installation, unless they say where clients find them.
  const { host, pathname } = new URL(baseUrl ?? 'http://directory');
  const own = `directory:${host}${pathname.replace(/\/+$/, '')}`;
  return {
    url: settings.REDIS_URL,
    prefix: settings.REDIS_PREFIX ?? (baseUrl === undefined ? 'directory' : own),
    certificates: settings.REDIS_CA_FILE ?? null,
  };
}
