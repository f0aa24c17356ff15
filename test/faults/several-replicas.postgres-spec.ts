import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import pg from 'pg';
import { ContinuousClients } from '../support/clients/continuous-clients.js';
import { readPod } from '../support/servers/deployment.js';
import { buildLdif } from '../support/builders/directory.js';
import { eventually } from '../support/eventually.js';
import { dataOf, type HttpAnswer, type Listening, post, send } from '../support/clients/http.js';
import { TestNginx } from '../support/servers/nginx.js';
import { findFreePort } from '../support/servers/postgres.mjs';
import { TestRedis } from '../support/servers/redis.js';
import { ServiceProcesses } from '../support/servers/service-processes.js';

const POINTS = 1000;
const FAILED_LOGINS = 10;
const REVISIONS = 8;
const IDS = Array.from({ length: 20 }, (_, index) => `p${index}`);
const WAITING = /Another process runs the synchronization/;
/** Costs a point. */
const CHEAP = JSON.stringify({ query: '{ rateLimit { remaining } }' });
const TYPE = { 'content-type': 'application/json' };

/** A directory in which each name contains the number of its revision. */
function directoryOf(revision: number): string {
  const people = IDS.map((id) => ({ id, name: `${id} of ${revision}` }));
  return buildLdif(people, [{ id: 'all', name: `Members of ${revision}`, members: IDS }]);
}

describe('replicas on one PostgreSQL and one Redis, behind nginx', () => {
  let redis: TestRedis;
  let replicas: ServiceProcesses;
  let nginx: TestNginx;
  let front: Listening;
  let authorization: string;

  beforeAll(async () => {
    redis = await TestRedis.prepare();
    await redis.start();
    replicas = await ServiceProcesses.start(2, directoryOf(1), {
      REDIS_URL: redis.url,
      TRUSTED_PROXIES: '127.0.0.1',
      LIMIT_POINTS_PER_HOUR: String(POINTS),
      LIMIT_FAILED_LOGINS: String(FAILED_LOGINS),
    });
    nginx = await TestNginx.start(...replicas.each.map(({ port }) => port));
    front = { config: { host: '127.0.0.1', port: nginx.port } };
    authorization = replicas.each[0]?.authorization ?? '';
  });

  afterAll(async () => {
    await nginx.stop();
    await replicas.stop();
    await redis.kill();
  });

  /** Sends the same request several times at once, from one address. */
  function sendTimes(count: number, localAddress: string, headers: Record<string, string>) {
    const request = { method: 'POST', headers: { ...TYPE, ...headers }, body: CHEAP, localAddress };
    return Promise.all(Array.from({ length: count }, () => send(front, request)));
  }

  const countOf = (answers: readonly HttpAnswer[], status: number) =>
    answers.filter((answer) => answer.status === status).length;

  it('are both used, and share the points of a client exactly', async () => {
    const answers: HttpAnswer[] = [];
    while (answers.length < POINTS + 60) answers.push(...(await sendTimes(60, '127.0.0.5', {})));
    expect([countOf(answers, 200), countOf(answers, 429)]).toEqual([POINTS, answers.length - POINTS]);
    for (const { port } of replicas.each) expect(nginx.countSentTo(port)).toBeGreaterThan(POINTS / 4);
    // Requests of other addresses were not counted.
    expect(countOf(await sendTimes(1, '127.0.0.6', {}), 200)).toBe(1);
  });

  it('share the failed logins', async () => {
    const guess = { authorization: `Basic ${Buffer.from('nobody:guess').toString('base64')}` };
    const answers = await sendTimes(FAILED_LOGINS + 6, '127.0.0.7', guess);
    expect([countOf(answers, 401), countOf(answers, 429)]).toEqual([FAILED_LOGINS, 6]);
  });

  it('serve each request from one revision, which only one of them applies', async () => {
    const wrong: string[] = [];
    let newest = 0;
    const query =
      '{ users(first: 50) { nodes { name } } group(group: {id: "all"}) { name members(first: 50) { nodes { user { name } } } } }';
    const clients = new ContinuousClients(front, {
      count: 2,
      pause: 50,
      request: { method: 'POST', headers: { ...TYPE, authorization }, body: JSON.stringify({ query }) },
      onAnswer: ({ body }) => {
        const revisions = new Set([...body.matchAll(/ of (\d+)"/g)].map(([, revision]) => Number(revision)));
        if (revisions.size !== 1) wrong.push(body);
        newest = Math.max(newest, ...revisions);
      },
    });
    for (let revision = 2; revision <= REVISIONS; revision++) {
      replicas.replaceDirectory(directoryOf(revision));
      await eventually(() => Promise.resolve(newest), revision);
    }
    await clients.end();
    expect([clients.failures, wrong.slice(0, 1)]).toEqual([[], []]);
    const waiting = replicas.each.filter(({ process }) => WAITING.test(process.stdout));
    expect(waiting).toHaveLength(1);
    // As many revisions as directories: no process applied one again.
    expect(await countRevisions()).toBe(REVISIONS);
    const data = await Promise.all(
      replicas.each.map((replica) => post(replica, { query }, { authorization })),
    );
    expect(new Set(data.map((answer) => JSON.stringify(dataOf(answer)))).size).toBe(1);
  });

  it('pass the probes of deploy/ at their paths', async () => {
    const { container } = readPod();
    const probes = [container.startupProbe, container.livenessProbe, container.readinessProbe];
    for (const replica of replicas.each) {
      for (const { httpGet } of probes) {
        expect(container.ports[0]?.name).toBe(httpGet.port);
        expect((await send(replica, { path: httpGet.path })).status).toBe(200);
      }
    }
    const [, path = ''] = /uri (\S+)/.exec(readFileSync('deploy/haproxy.cfg', 'utf8')) ?? [];
    expect(path).toBe(container.readinessProbe.httpGet.path);
  });

  it('pass the check of the image, which fails if no service listens', async () => {
    const [, command = ''] = /HEALTHCHECK [^[]*(\[.*\])$/m.exec(readFileSync('Dockerfile', 'utf8')) ?? [];
    const [, ...args] = JSON.parse(command) as string[];
    const check = (port: number | string) =>
      spawnSync(process.execPath, args, { env: { PORT: String(port) } }).status;
    expect(replicas.each.map(({ port }) => check(port))).toEqual([0, 0]);
    expect(check(await findFreePort())).toBe(1);
  });

  async function countRevisions(): Promise<number> {
    const client = new pg.Client(replicas.database.url);
    await client.connect();
    const { rows } = await client.query<{ count: string }>('select count(*) from revisions');
    await client.end();
    return Number(rows[0]?.count);
  }
});
