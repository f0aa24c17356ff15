// A directory on slapd, PostgreSQL, an identity provider and the service, as processes with the defaults of the service.
import { once } from 'node:events';
import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { URLSearchParams } from 'node:url';
import pg from 'pg';
import { findFreePort } from '../../test/support/servers/postgres.mjs';
import { Child, ROOT } from '../child.mjs';
import { LoadProcess } from '../load/load-process.mjs';
import { execute } from '../contenders/contender.mjs';
import { QUERIES } from '../queries.mjs';

const GENERATOR = new URL('../load/generator.mjs', import.meta.url);
const CLIENT = `Basic ${Buffer.from('jwt-client:jwt-secret').toString('base64')}`;
const TOKENS = 20;

/** Milliseconds until a large directory is read for the first time. */
const FIRST_READING_MS = 600_000;

/** Starts the identity provider of the tests. @returns the settings of a service, and tokens of users */
export async function startIssuer(resources, people) {
  const child = spawn(process.execPath, ['test/support/servers/issuer.mjs'], {
    cwd: ROOT,
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  resources.defer(() => child.kill('SIGKILL'));
  const [line] = await once(createInterface(child.stdout), 'line');
  const { issuer } = JSON.parse(line);
  const tokens = [];
  for (const id of people.slice(0, TOKENS)) tokens.push(await fetchToken(issuer, id));
  return {
    tokens,
    environment: {
      AUTH_URL: issuer,
      AUTH_AUDIENCE: 'urn:test:directory',
      AUTH_INTROSPECTION_CLIENT_ID: 'directory-service',
      AUTH_INTROSPECTION_CLIENT_SECRET: 'service-secret',
    },
  };
}

async function fetchToken(issuer, person) {
  const response = await fetch(`${issuer}/oauth2/token`, {
    method: 'POST',
    headers: { authorization: CLIENT },
    body: new URLSearchParams({
      grant_type: 'client_credentials',
      scope: 'profile read directory',
      sub: person,
    }),
  });
  const { access_token: token } = await response.json();
  if (token === undefined) throw new Error(`No token for ${person} (${response.status})`);
  return token;
}

/** A service in production mode that follows a directory. */
export class FollowingService {
  /** @param ready what the log says when the directory has been read */
  static async start(environment, ready, resources) {
    const port = await findFreePort();
    const child = await Child.start({
      // As npm start does.
      args: ['--max-semi-space-size=8', 'dist/bundled/main.js'],
      environment: {
        NODE_ENV: 'production',
        METRICS_PORT: String(await findFreePort()),
        URL_SIGNING_KEYS: '0'.repeat(64),
        LIMIT_REQUESTS_PER_MINUTE: '999999999',
        LIMIT_POINTS_PER_HOUR: '999999999',
        ...environment,
        PORT: String(port),
      },
      ready,
      resources,
      timeoutMs: FIRST_READING_MS,
    });
    return new FollowingService(port, child);
  }

  constructor(port, child) {
    this.port = port;
    this.child = child;
  }

  get pid() {
    return this.child.pid;
  }

  /** @returns the data of the response */
  execute(query, token) {
    return execute(this.port, { query }, token);
  }

  stop() {
    return this.child.stop();
  }
}

/** Sends Q1 for some groups to services. */
export class Load {
  #process;
  #names = 0;

  constructor(resources) {
    this.#process = new LoadProcess(GENERATOR, resources);
  }

  /** @returns a function that sends requests for { seconds, connections, rate } */
  async prepare({ port }, groups, tokens) {
    const name = String(this.#names++);
    const { operationName, query } = QUERIES.members;
    const variables = groups.map((id) => JSON.stringify({ id }));
    await this.#process.prepare(name, { operationName, query, variables, tokens, ports: [port] });
    return (options) => this.#process.run(name, options);
  }
}

export async function connect(url, resources) {
  const client = new pg.Client(url);
  // The server is stopped with connections open.
  client.on('error', () => undefined);
  await client.connect();
  resources.defer(() => client.end().catch(() => undefined));
  return client;
}
