// The service in production mode, as npm start starts it, and the identity provider that signs the tokens of its clients.
import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { performance } from 'node:perf_hooks';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { URLSearchParams } from 'node:url';
import { promisify } from 'node:util';
import { findFreePort } from '../test/support/ports.mjs';
import { spawnBound } from '../test/support/spawn-bound.mjs';
import { Child, ROOT } from './processes.mjs';

/** A million users are read within this time, also on a slow machine. */
const READY_TIMEOUT_MS = 7_200_000;
const CLIENT = `Basic ${Buffer.from('jwt-client:jwt-secret').toString('base64')}`;
export const SIGNING_KEY = '0'.repeat(64);

/** Limits that no measurement reaches, and one process, which has everything. */
const SETTINGS = {
  NODE_ENV: 'production',
  ALLOW_EMBEDDED: 'true',
  ENV_FILE: '/dev/null',
  WORKERS: '1',
  URL_SIGNING_KEYS: SIGNING_KEY,
  LIMIT_REQUESTS_PER_MINUTE: '999999999',
  LIMIT_POINTS_PER_HOUR: '999999999',
};

/** The identity provider of the tests: a process of its own. */
export class Issuer {
  static async start(resources) {
    const child = spawnBound(process.execPath, ['test/support/servers/issuer.mjs'], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    resources.defer(() => child.kill('SIGKILL'));
    const [line] = await once(createInterface(child.stdout), 'line');
    return new Issuer(JSON.parse(line).issuer);
  }

  constructor(url) {
    this.url = url;
    this.settings = {
      AUTH_URL: url,
      AUTH_AUDIENCE: 'urn:test:directory',
      AUTH_INTROSPECTION_CLIENT_ID: 'directory-service',
      AUTH_INTROSPECTION_CLIENT_SECRET: 'service-secret',
    };
  }

  /** Tokens of users, which are valid for an hour. */
  async tokensOf(users) {
    const tokens = [];
    for (const user of users) tokens.push(await this.tokenOf(user));
    return tokens;
  }

  async tokenOf(user) {
    const response = await fetch(`${this.url}/oauth2/token`, {
      method: 'POST',
      headers: { authorization: CLIENT },
      body: new URLSearchParams({
        grant_type: 'client_credentials',
        scope: 'profile read directory',
        sub: user,
      }),
    });
    const { access_token: token } = await response.json();
    if (token === undefined) throw new Error(`No token for ${user} (${response.status})`);
    return token;
  }
}

export class Service {
  /**
   * Starts a process without waiting for it.
   * @param environment settings
   * @param build directory: where a build is; command: that starts it. Default: this build, by the script `start` of its package
   */
  static async spawn(resources, environment, build = {}) {
    const { directory = ROOT } = build;
    const { command = JSON.parse(readFileSync(join(directory, 'package.json'), 'utf8')).scripts.start } =
      build;
    const [port, metricsPort] = [await findFreePort(), await findFreePort()];
    const settings = {
      ...SETTINGS,
      BASE_URL: `http://127.0.0.1:${port}`,
      PORT: String(port),
      METRICS_PORT: String(metricsPort),
      ...environment,
    };
    const options = { environment: settings, cwd: directory };
    return new Service(new Child(resources, '/bin/sh', ['-c', `exec ${command}`], options), settings);
  }

  /** Starts a process, and waits until it has the directory. */
  static async start(...options) {
    const service = await Service.spawn(...options);
    await service.untilReady();
    return service;
  }

  constructor(child, settings) {
    this.child = child;
    this.settings = settings;
    this.port = Number(settings.PORT);
    this.pids = [child.pid];
  }

  untilReady() {
    return this.child.until(() => this.answers('/_readiness'), READY_TIMEOUT_MS);
  }

  /** Whether a path is answered with 200. */
  async answers(path) {
    try {
      return (await fetch(`http://127.0.0.1:${this.port}${path}`)).ok;
    } catch {
      return false; // The port is not open yet.
    }
  }

  execute(query, token, variables = {}) {
    return execute(this.port, { query, variables }, token);
  }

  /** @returns the milliseconds since a point in time until a response is as expected */
  async until(begun, query, token, isExpected) {
    while (!isExpected(await this.execute(query, token))) await sleep(1);
    return performance.now() - begun;
  }

  /** The sum of a metric over its labels. */
  async readMetric(name) {
    const text = await (await fetch(`http://127.0.0.1:${this.settings.METRICS_PORT}/metrics`)).text();
    const found = [...text.matchAll(new RegExp(`^${name}(?:{[^}]*})? (\\S+)$`, 'gm'))];
    if (found.length === 0) throw new Error(`There is no metric ${name}`);
    return found.reduce((sum, [, value]) => sum + Number(value), 0);
  }

  /** Runs a command of the service beside it, with the same settings. */
  async command(...args) {
    const env = { PATH: process.env.PATH, ...this.settings };
    await promisify(execFile)(process.execPath, ['dist/bundled/cli.js', ...args], { env });
  }

  stop() {
    return this.child.stop();
  }
}

/** Sends one request. @returns the data of the response */
export async function execute(port, body, token) {
  const response = await fetch(`http://127.0.0.1:${port}/graphql/v1`, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${token}`,
      'content-type': 'application/json',
      accept: 'application/json',
    },
    body: JSON.stringify(body),
  });
  const text = await response.text();
  if (response.status !== 200 || text.includes('"errors":')) throw new Error(`${response.status} ${text}`);
  return JSON.parse(text).data;
}
