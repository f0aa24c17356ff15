// The service in production mode, with its embedded identity provider.
import { findFreePort } from '../../test/support/servers/postgres.mjs';
import { Child } from '../child.mjs';
import { QUERIES } from '../queries.mjs';
import { Contender } from './contender.mjs';

/** Rate limits that no scenario reaches. */
const UNLIMITED = { LIMIT_REQUESTS_PER_MINUTE: '999999999', LIMIT_POINTS_PER_HOUR: '999999999' };

/** The page of the requests of browsers. */
export const ORIGIN = 'https://pages.example.org';

/** Disables the response cache. */
const CACHE_OFF = { RESPONSE_CACHE_MEGABYTES: '0' };

/**
 * Settings of all processes on a database, which accept each other's tokens.
 * @param model the model file, unless a process has another one
 */
export async function makeSite({ databaseUrl, clientsFile, signingKey, model }) {
  const port = await findFreePort();
  const environment = {
    NODE_ENV: 'production',
    ALLOW_EMBEDDED: 'true',
    BASE_URL: `http://127.0.0.1:${port}`,
    DATABASE_URL: databaseUrl,
    URL_SIGNING_KEYS: signingKey,
    AUTH_EMBEDDED_CLIENTS: clientsFile,
    CORS_ORIGINS: ORIGIN,
    DIRECTORY_MODEL: model,
    ...UNLIMITED,
  };
  return { port, baseUrl: environment.BASE_URL, environment };
}

/**
 * Starts one process of the service, on the port of the site by default. Requests are logged and counted, as by default.
 * @param program of another build; null: of this one
 */
export async function startProcess(
  site,
  resources,
  {
    port = site.port,
    cacheOff = false,
    preload = [],
    model = null,
    logsRequests = true,
    node,
    program = null,
  } = {},
) {
  const metricsPort = await findFreePort();
  const environment = {
    ...site.environment,
    PORT: String(port),
    METRICS_PORT: String(metricsPort),
    LOG_REQUESTS: String(logsRequests),
    ...(cacheOff ? CACHE_OFF : {}),
    ...(model === null ? {} : { DIRECTORY_MODEL: model }),
  };
  // As npm start does. A profile names the modules, which a bundle joins.
  const own = preload.length === 0 ? 'dist/bundled/main.js' : 'dist/main.js';
  const args = ['--max-semi-space-size=8', ...preload, program ?? own];
  const child = await Child.start({ node, args, environment, ready: /Ready at/, resources });
  return { child, port, metricsPort };
}

export function contenderOf(name, processes) {
  const children = processes.map(({ child }) => child);
  const ports = processes.map(({ port }) => port);
  const [{ metricsPort }] = processes;
  return new Contender({ name, children, ports, metricsPort, queries: QUERIES });
}
