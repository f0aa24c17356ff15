// The service, as its users run it: its settings, its embedded identity provider, its tables.
import { findFreePort } from '../../test/support/servers/postgres.mjs';
import { Child } from '../child.mjs';
import { QUESTIONS } from '../questions.mjs';
import { Contender } from './contender.mjs';

/** Nobody is to be told that they ask too much. */
const UNLIMITED = { LIMIT_REQUESTS_PER_MINUTE: '999999999', LIMIT_POINTS_PER_HOUR: '999999999' };

/** None of the others writes a line for each request. */
const QUIET = { LOG_REQUESTS: 'false' };

/** How it is told to remember no answers. */
const FORGETFUL = { ANSWER_CACHE_MEGABYTES: '0' };

/** Where a service is, and what it needs to be the same as others on its database: they trust each other's tokens. */
export async function makeSite({ databaseUrl, clientsFile, signingKey }) {
  const port = await findFreePort();
  const environment = {
    NODE_ENV: 'production',
    ALLOW_EMBEDDED: 'true',
    BASE_URL: `http://127.0.0.1:${port}`,
    DATABASE_URL: databaseUrl,
    URL_SIGNING_KEYS: signingKey,
    AUTH_EMBEDDED_CLIENTS: clientsFile,
    ...UNLIMITED,
    ...QUIET,
  };
  return { port, baseUrl: environment.BASE_URL, environment };
}

/** Starts one process of the service. The first of a site has the site's own port. */
export async function startProcess(
  site,
  resources,
  { port = site.port, forgetful = false, preload = [] } = {},
) {
  const environment = { ...site.environment, PORT: String(port), ...(forgetful ? FORGETFUL : {}) };
  const args = [...preload, 'dist/main.js'];
  const child = await Child.start({ args, environment, ready: /Ready at/, resources });
  return { child, port };
}

export function contenderOf(name, processes) {
  const children = processes.map(({ child }) => child);
  const ports = processes.map(({ port }) => port);
  return new Contender({ name, children, ports, questions: QUESTIONS });
}
