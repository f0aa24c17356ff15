import { Logger } from '@nestjs/common';
import pg from 'pg';
import { ReadReplica } from '../../src/database/connections/replica.js';
import { Replicas } from '../../src/database/connections/replicas.js';
import { directoryOf } from '../support/clients/monotonic-reader.js';
import { runCommand } from '../support/clients/command.js';
import { post, send } from '../support/clients/http.js';
import { stopFollowing } from '../support/clients/mirror.js';
import { readSamples } from '../support/clients/metrics.js';
import { findFreePort, type TestPostgres } from '../support/servers/postgres.mjs';
import {
  administrate,
  type ReplicaBehindProxy,
  ReplicatedPostgres,
} from '../support/servers/replicated-postgres.js';
import { TestService } from '../support/servers/service.js';
import { TwinService } from '../support/twin.js';

const QUESTIONS = [
  '{ user(user: {id: "p1"}) { name } }',
  '{ users(first: 3) { nodes { name } } }',
  '{ group(group: {id: "all"}) { name members(first: 3) { nodes { user { name } } } } }',
];
const REASON = 'it has a revision that the primary never had';

/** A revision that the promoted server applies by itself, with other names. */
const REVISION_OF_PROMOTED = [
  `insert into revisions (applied_at, users_created, users_updated, users_deleted, groups_created, groups_updated, groups_deleted,
    memberships_added, memberships_changed, memberships_removed, confirmed)
    values (now(), 0, 30, 0, 0, 2, 0, 0, 0, 0, false)`,
  `update users set name = id || ' of 9000'`,
  `update groups set name = 'Group of 9000'`,
  'update mirror_state set revision = (select max(id) from revisions)',
];

interface Seen {
  readonly isReplica: boolean;
  readonly number: number;
  readonly id: string;
  readonly name: string;
}

let servers: ReplicatedPostgres;
let orphan: ReplicaBehindProxy;
let sound: ReplicaBehindProxy;
let promoted: TestPostgres;
/** Applies revisions on the primary. */
let service: TestService;
let environment: Record<string, string>;
let metricsPort: number;
let authorization: string;
let directory = 1;
const asked = jest.spyOn(ReadReplica.prototype, 'read');
const logged = jest.spyOn(Logger.prototype, 'warn');

beforeAll(async () => {
  servers = await ReplicatedPostgres.start();
  [orphan, sound] = servers.replicas;
  metricsPort = await findFreePort();
  environment = {
    DATABASE_URL: servers.primary.url('directory'),
    DATABASE_REPLICA_URLS: servers.replicaUrls,
    // All data.
    RESPONSE_CACHE_MEGABYTES: '0',
  };
  service = await TestService.start({
    ldif: directoryOf(directory),
    environment: { ...environment, METRICS_PORT: String(metricsPort), METRICS_HOST: '127.0.0.1' },
    compared: false,
  });
  await stopFollowing(service);
  authorization = await service.serviceAccount('read', 'directory');
  await untilAsked(service, 2);

  const revisions = Array.from({ length: 3 }, () => REVISION_OF_PROMOTED).flat();
  promoted = await servers.orphan(orphan, revisions);
  await untilFollowed();
  await untilAsked(service, 1);
});

afterAll(async () => {
  try {
    await service.stop();
  } finally {
    await servers.stop();
  }
});

/** Number of replicas in use, from readiness. */
async function countAsked(of: TestService | TwinService): Promise<unknown> {
  const { body } = await send(of, { path: '/_readiness' });
  return (JSON.parse(body) as { details: { database: { replicas: unknown } } }).details.database.replicas;
}

async function untilAsked(of: TestService | TwinService, current: number): Promise<void> {
  const wanted = JSON.stringify({ all: 2, current });
  await service.until(async () => JSON.stringify(await countAsked(of)) === wanted);
}

async function readRevision(server: TestPostgres): Promise<Seen> {
  const client = new pg.Client(server.url('directory'));
  await client.connect();
  const { rows } = await client.query<Seen>(
    `select pg_is_in_recovery() as "isReplica", revision as number, revision_uuid as id,
      (select name from users where id = 'p1') as name from mirror_state`,
  );
  await client.end();
  const [seen] = rows;
  if (seen === undefined) throw new Error('There is no state');
  return seen;
}

/** Until the diverged replica has the data of the promoted server. */
async function untilFollowed(): Promise<void> {
  const { id } = await readRevision(promoted);
  await service.until(async () => (await readRevision(orphan.server)).id === id);
}

/** Every response has the data of the primary, and only the valid replica is read. */
async function expectSound(of: TestService | TwinService): Promise<void> {
  await untilAsked(of, 1);
  const replicas = of.app.get(Replicas);
  // The diverged replica is checked several times in the meantime.
  for (let round = 0; round < 5; round++) {
    asked.mockClear();
    for (const query of [...QUESTIONS, ...QUESTIONS]) {
      const { status, body } = await post(of, { query }, { authorization });
      const numbers = new Set([...body.matchAll(/ of (\d+)"/g)].map(([, number]) => Number(number)));
      expect({ status, numbers: [...numbers] }).toEqual({ status: 200, numbers: [directory] });
    }
    const contexts: ReadonlySet<ReadReplica> = new Set(asked.mock.contexts);
    expect([...contexts].map(({ state }) => state.host)).toEqual([`127.0.0.1:${sound.proxy.port}`]);
    expect(replicas.count).toEqual({ all: 2, current: 1 });
    expect(await countAsked(of)).toEqual({ all: 2, current: 1 });
    await new Promise((resolve) => setTimeout(resolve, 300));
  }
}

async function readUp(): Promise<Record<string, number>> {
  const metrics = { config: { host: '127.0.0.1', port: metricsPort } };
  const { body } = await send(metrics, { path: '/metrics' });
  const samples = readSamples(body).filter(({ name }) => name === 'directory_replica_up');
  return Object.fromEntries(samples.map(({ labels, value }) => [labels['server'] ?? '', value]));
}

describe('a replica with revisions that the primary never had', () => {
  it('diverges, with a higher revision number, another id and other data', async () => {
    const [there, here] = [await readRevision(orphan.server), await readRevision(servers.primary)];
    expect(there).toMatchObject({ isReplica: true, name: 'p1 of 9000' });
    expect(here).toMatchObject({ isReplica: false, name: `p1 of ${directory}` });
    expect(there.number).toBeGreaterThan(here.number);
    expect(there.id).not.toBe(here.id);
  });

  it('is never read, and does not count as current for readiness', () => expectSound(service));

  it('is never read after a restart of the service, either', async () => {
    const again = await TwinService.start(service, environment);
    try {
      await expectSound(again);
    } finally {
      await again.stop();
    }
  });

  it('is never read when the primary reaches the same number with another revision', async () => {
    const { number, id } = await readRevision(orphan.server);
    // Without the numbers in between.
    await administrate(
      servers.primary,
      'directory',
      `select setval(pg_get_serial_sequence('revisions', 'id'), ${number - 1})`,
    );
    service.replaceDirectory(directoryOf(++directory));
    expect((await service.synchronize()).kind).toBe('applied');
    const here = await readRevision(servers.primary);
    expect(here.number).toBe(number);
    expect(here.id).not.toBe(id);
    await expectSound(service);
  });

  it('is logged once, and its metric is down', async () => {
    const name = `127.0.0.1:${orphan.proxy.port}`;
    const lines = () => logged.mock.calls.filter(([text]) => String(text).includes(REASON));
    await service.until(async () => (await readUp())[name] === 0);
    expect(await readUp()).toEqual({ [name]: 0, [`127.0.0.1:${sound.proxy.port}`]: 1 });
    logged.mockClear();
    const again = await TwinService.start(service, environment);
    try {
      await service.until(() => Promise.resolve(lines().length > 0));
      await expectSound(again);
      expect(lines()).toEqual([[`The replica ${name} is not used: ${REASON}`]]);
    } finally {
      await again.stop();
    }
  });

  it('is reported by the check of settings', async () => {
    const { stdout, code } = await runCommand(['check'], {
      ...environment,
      DIRECTORY_URL: `file:${service.directoryFile}`,
    });
    const lines = stdout.split('\n');
    expect(lines.filter((line) => line.includes('read replica'))).toEqual([
      expect.stringContaining(`127.0.0.1:${orphan.proxy.port}: ${REASON}`),
      expect.stringContaining(`127.0.0.1:${sound.proxy.port}`),
    ]);
    expect(code).toBe(1);
  });

  it('is read after it follows the primary', async () => {
    await servers.replace(orphan);
    await untilAsked(service, 2);
    expect(await readUp()).toMatchObject({ [`127.0.0.1:${orphan.proxy.port}`]: 1 });
  });
});
