import { isIP } from 'node:net';
import { z } from 'zod';
import { parseHttpUrl, parseUrl } from '../../common/url.js';
import { setting, type ValuesOf } from '../setting.js';
import { httpUrl, integer, list, text, trueOrFalse, wholeNumber, yesOrNo } from '../value-kinds.js';

export const hostName = text.refine(
  (value) =>
    /^[A-Za-z0-9.:-]+$/.test(value) &&
    parseUrl(`http://${value.includes(':') ? `[${value}]` : value}`) !== null,
  { error: 'must be a host name or an IP address' },
);

/** Origins in the form that browsers send: nothing after the port, and no default port. */
const origins = list.refine(
  (items) => items.every((item) => !item.includes('*') && parseHttpUrl(item)?.origin === item),
  {
    error: 'must be origins such as https://pages.example.org, separated by commas',
  },
);

const proxies = list.refine((items) => items.every(isAddressOrNetwork), {
  error: 'must be IP addresses or networks such as 10.0.0.0/8, separated by commas',
});

/** RFC 4632 §3.1, RFC 4291 §2.3. */
function isAddressOrNetwork(item: string): boolean {
  const [, address = '', bits] = /^([^/]*)(?:\/(\d{1,3}))?$/.exec(item) ?? [];
  const version = isIP(address);
  return version !== 0 && Number(bits ?? 0) <= (version === 4 ? 32 : 128);
}

/** Settings of the addresses of the service, and of the information that it discloses. */
export const SERVICE_SETTINGS = {
  HOST: setting(hostName.default('127.0.0.1'), 'Address to listen on.'),
  PORT: setting(integer(1, 65_535, 3000), 'Port to listen on.'),
  BASE_URL: setting(
    httpUrl.optional(),
    'Public URL of the service, with an optional path. Default: http://HOST:PORT.',
  ),
  WORKERS: setting(
    wholeNumber(1, 64).optional(),
    'Number of processes that serve requests. Default: the number of cores with PostgreSQL and AUTH_URL, otherwise 1.',
  ),
  NODE_ENV: setting(
    text
      .pipe(
        z.enum(['production', 'development', 'test'], {
          error: 'must be production, development or test',
        }),
      )
      .default('development'),
    'production, development or test. production rejects the embedded parts and hides the schema.',
  ),
  ALLOW_EMBEDDED: setting(
    yesOrNo,
    'Allows the embedded parts in production and under every host name, for a demonstration.',
  ),
  LOG_LEVEL: setting(
    z
      .enum(['fatal', 'error', 'warn', 'log', 'debug', 'verbose'], {
        error: 'must be one of fatal, error, warn, log, debug, verbose',
      })
      .default('log'),
    'Lowest level that is logged: fatal, error, warn, log, debug or verbose.',
  ),
  TRUSTED_PROXIES: setting(
    proxies.default([]),
    'IP addresses or networks of reverse proxies whose X-Forwarded-For header is trusted, comma-separated.',
  ),
  CORS_ORIGINS: setting(
    origins.default([]),
    'Origins of web pages that may call the API from a browser, comma-separated.',
  ),
  GRAPHQL_INTROSPECTION: setting(
    trueOrFalse.optional(),
    'Allows introspection of the schema. Default: true, in production false.',
  ),
  GRAPHQL_SUGGESTIONS: setting(
    trueOrFalse.optional(),
    'Lets errors suggest names of the schema («Did you mean …»). Default: true, in production false.',
  ),
};

/** Returns the URL under which clients reach the service, without a trailing slash. */
export function baseUrlOf(
  settings: Pick<ValuesOf<typeof SERVICE_SETTINGS>, 'HOST' | 'PORT' | 'BASE_URL'>,
): string {
  const host = settings.HOST.includes(':') ? `[${settings.HOST}]` : settings.HOST;
  return (settings.BASE_URL ?? `http://${host}:${settings.PORT}`).replace(/\/+$/, '');
}
