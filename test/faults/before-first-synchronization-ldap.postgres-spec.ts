import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import { readConfig } from '../../src/config/config.js';
import { createApp } from '../../src/create-app.js';
import { buildLdif } from '../support/builders/directory.js';
import { eventually } from '../support/eventually.js';
import { directorySettings } from '../support/servers/ldap.js';
import { findFreePort } from '../support/servers/postgres.mjs';
import { TestProxy } from '../support/servers/proxy.js';
import { TestService } from '../support/servers/service.js';
import { startSlapd, type TestSlapd } from '../support/servers/slapd.mjs';
import { sendQuery } from '../support/clients/graphql.js';

const PEOPLE = Array.from({ length: 20 }, (_, index) => ({ id: `person-${index + 10}` }));
const LDIF = buildLdif(PEOPLE, [{ id: 'club', members: PEOPLE.map(({ id }) => id) }]);

interface Readiness {
  status: number;
  mirror: { status: string; state: string; ageSeconds: number | null; reason?: string };
}

async function readReadiness(url: string): Promise<Readiness> {
  const response = await fetch(`${url}/_readiness`);
  const { details } = (await response.json()) as { details: Pick<Readiness, 'mirror'> };
  return { status: response.status, mirror: details.mirror };
}

/** The status, and the number of users that the API returns. */
async function count(url: string, authorization: string): Promise<unknown[]> {
  const query = '{ users(first: 1) { totalCount } }';
  const { status, data } = await sendQuery<{ users: { totalCount: number } | null }>(url, query, {
    authorization,
  });
  return [status, data?.users?.totalCount ?? null];
}

/** A process on the same database that does not synchronize. */
async function startBeside({ config }: TestService): Promise<{ app: NestFastifyApplication; url: string }> {
  const { database } = config;
  const beside = readConfig({
    PORT: String(await findFreePort()),
    DATABASE_URL: database.url,
    DIRECTORY_URL: 'file:nowhere.ldif',
    LOG_LEVEL: 'fatal',
  });
  const app = await createApp(beside);
  await app.listen(beside.port, beside.host);
  return { app, url: `http://127.0.0.1:${beside.port}` };
}

describe('a first reading of a server', () => {
  let slapd: TestSlapd;
  let proxy: TestProxy;

  beforeAll(async () => {
    slapd = await startSlapd({ ldif: LDIF });
    proxy = await TestProxy.start({ host: '127.0.0.1', port: slapd.port });
  });

  afterEach(() => {
    proxy.restore();
  });

  afterAll(async () => {
    await proxy.stop();
    await slapd.remove();
  });

  it('with a wrong password serves no data, here and in a process beside it', async () => {
    const service = await TestService.start({
      environment: { ...directorySettings(slapd), DIRECTORY_BIND_PASSWORD: 'wrong' },
    });
    const beside = await startBeside(service);
    try {
      const authorization = await service.serviceAccount('directory');
      for (const url of [service.url, beside.url]) {
        expect(await readReadiness(url)).toEqual({
          status: 503,
          mirror: {
            status: 'down',
            state: 'FAILING',
            ageSeconds: null,
            reason: 'The directory cannot be read at the moment',
          },
        });
        expect(await count(url, authorization)).toEqual([503, null]);
      }
    } finally {
      await beside.app.close();
      await service.stop();
    }
  });

  it('is RUNNING while it lasts', async () => {
    proxy.slow(200);
    const port = await findFreePort();
    const starting = TestService.start({
      environment: {
        ...directorySettings(slapd),
        DIRECTORY_URL: `ldap://127.0.0.1:${proxy.port}`,
        PORT: String(port),
      },
    });
    const readState = () =>
      readReadiness(`http://127.0.0.1:${port}`).then(
        ({ mirror }) => mirror.state,
        () => null,
      );
    await eventually(readState, 'RUNNING');
    const service = await starting;
    await service.stop();
  });

  it('is not served as an empty directory before its end, here and in a process beside it', async () => {
    proxy.freeze();
    const port = await findFreePort();
    const starting = TestService.start({
      environment: {
        ...directorySettings(slapd),
        DIRECTORY_URL: `ldap://127.0.0.1:${proxy.port}`,
        PORT: String(port),
      },
    });
    const url = `http://127.0.0.1:${port}`;
    // Nothing has been received from the server yet, and the first timeout is seconds away.
    await eventually(
      () =>
        readReadiness(url).then(
          ({ status, mirror }) => [status, mirror.state, mirror.reason],
          () => null,
        ),
      [503, 'NEVER_RUN', 'The directory has not been read yet'],
    );
    proxy.cut();
    const service = await starting;
    const beside = await startBeside(service);
    try {
      const authorization = await service.serviceAccount('directory');
      for (const each of [url, beside.url]) expect(await count(each, authorization)).toEqual([503, null]);
      proxy.restore();
      proxy.slow(200);
      const all = [200, PEOPLE.length];
      for (const each of [url, beside.url]) {
        const seen: unknown[][] = [];
        await eventually(async () => {
          seen.push(await count(each, authorization));
          return seen.at(-1);
        }, all);
        expect(seen.filter(([status]) => status !== 503)).toEqual([all]);
        await eventually(async () => (await readReadiness(each)).status, 200);
      }
    } finally {
      await beside.app.close();
      await service.stop();
    }
  });
});
