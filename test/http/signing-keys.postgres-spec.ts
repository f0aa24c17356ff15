import { randomBytes } from 'node:crypto';
import { mkdtempSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Environment } from '../../src/config/config.js';
import { PICTURE, buildLdif } from '../support/builders/directory.js';
import { runCommand } from '../support/clients/command.js';
import { readData } from '../support/clients/graphql.js';
import { send } from '../support/clients/http.js';
import { TestService } from '../support/servers/service.js';
import { variable } from '../support/servers/store.js';
import { TwinService } from '../support/twin.js';

const QUERY = '{ user(user: {id: "anna"}) { photo } }';
const OLD = randomBytes(32).toString('hex');
const NEW = randomBytes(32).toString('hex');

const service = TestService.forSuite({ ldif: buildLdif([{ id: 'anna', photo: PICTURE }]) });
/** Two services on the database of the other one. */
let replicas: TwinService[] = [];

async function start(environment: Environment): Promise<void> {
  replicas = [await TwinService.start(service, environment), await TwinService.start(service, environment)];
}

async function stop(): Promise<void> {
  for (const replica of replicas.splice(0)) await replica.stop();
}

afterEach(stop);

/** Path and query of the URL of a photo, which a replica signs. */
async function signedBy({ config: { host, port } }: TwinService): Promise<string> {
  const authorization = await service.serviceAccount('read');
  const url = `http://${host}:${port}`;
  const { user } = await readData<{ user: { photo: string } }>(url, QUERY, { authorization });
  const { pathname, search } = new URL(user.photo);
  return `${pathname}${search}`;
}

const statusesOf = async (path: string) =>
  Promise.all(replicas.map(async (replica) => (await send(replica, { path })).status));

/** Restarts one replica after the other, and expects that each accepts, at any time, what each has signed. */
async function restartEach(environment: Environment): Promise<void> {
  for (const [index, replica] of replicas.entries()) {
    await replica.stop();
    replicas[index] = await TwinService.start(service, environment);
    for (const other of [...replicas]) expect(await statusesOf(await signedBy(other))).toEqual([200, 200]);
  }
}

async function signedByFirst(): Promise<string> {
  const [first] = replicas;
  return first === undefined ? '' : signedBy(first);
}

it('keys in the settings are rotated without a rejected URL: append, put first, remove', async () => {
  const file = join(mkdtempSync(join(variable('TEST_WORK_DIRECTORY'), 'keys-')), 'keys');
  const environment = { URL_SIGNING_KEYS_FILE: file };
  writeFileSync(file, OLD);
  await start(environment);
  const lastOfOld = await signedByFirst();
  for (const keys of [`${OLD},${NEW}`, `${NEW},${OLD}`]) {
    writeFileSync(file, keys);
    await restartEach(environment);
  }
  // It is valid for an hour, in which the former key stays.
  expect(await statusesOf(lastOfOld)).toEqual([200, 200]);
  writeFileSync(file, NEW);
  await restartEach(environment);
});

describe('the generated key', () => {
  const rotate = (args: string[], environment: Environment = {}) =>
    runCommand(['signing-key', 'rotate', ...args], {
      DATABASE_URL: service.config.database.url,
      ...environment,
    });

  it('is rotated by the command without a rejected URL', async () => {
    await start({});
    const lastOfOld = await signedByFirst();
    for (const step of ['added', 'changed']) {
      expect(JSON.parse((await rotate(['--json'])).stdout)).toMatchObject({ step });
      await restartEach({});
    }
    expect(await statusesOf(lastOfOld)).toEqual([200, 200]);
    const { code, stdout } = await rotate(['--now']);
    expect([code, stdout]).toEqual([0, expect.stringContaining('are then invalid') as string]);
    await stop();
    await start({});
    expect(await statusesOf(lastOfOld)).toEqual([403, 403]);
  });

  it('is not rotated if the keys are in the settings', async () => {
    const { code, stderr } = await rotate([], { URL_SIGNING_KEYS: OLD });
    const problem = expect.stringContaining('The keys are in URL_SIGNING_KEYS') as string;
    expect([code, stderr]).toEqual([2, problem]);
  });
});
