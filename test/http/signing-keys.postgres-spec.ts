import { randomBytes } from 'node:crypto';
import { mkdtempSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import sharp from 'sharp';
import { buildLdif } from '../support/builders/directory.js';
import { runCommand, type TestProcess } from '../support/clients/command.js';
import { readData } from '../support/clients/graphql.js';
import { type ServiceProcess, ServiceProcesses } from '../support/servers/service-processes.js';
import { variable } from '../support/servers/store.js';

const QUERY = '{ user(user: {id: "anna"}) { photo } }';
const OLD = randomBytes(32).toString('hex');
const NEW = randomBytes(32).toString('hex');

let ldif: string;

beforeAll(async () => {
  const photo = await sharp({ create: { width: 8, height: 8, channels: 3, background: 'teal' } })
    .jpeg()
    .toBuffer();
  ldif = buildLdif([{ id: 'anna', photo }]);
});

/** Path and query of the URL of a photo, which a replica signs. */
async function signedBy({ port, authorization }: ServiceProcess): Promise<string> {
  const url = `http://127.0.0.1:${port}`;
  const { user } = await readData<{ user: { photo: string } }>(url, QUERY, { authorization });
  const { pathname, search } = new URL(user.photo);
  return `${pathname}${search}`;
}

/** Statuses of the photo whose URL each replica signs, at each replica. */
async function statusesAmong(replicas: readonly ServiceProcess[]): Promise<number[]> {
  const paths = await Promise.all(replicas.map(signedBy));
  const answers = replicas.flatMap(({ port }) =>
    paths.map((path) => fetch(`http://127.0.0.1:${port}${path}`)),
  );
  return (await Promise.all(answers)).map(({ status }) => status);
}

/** Restarts one replica after the other. Returns all statuses that clients then get. */
async function restartEach({ each }: ServiceProcesses): Promise<Set<number>> {
  const statuses = new Set<number>();
  for (const replica of each) {
    await replica.restart();
    for (const status of await statusesAmong(each)) statuses.add(status);
  }
  return statuses;
}

describe('keys in the settings of two processes', () => {
  let file: string;
  let replicas: ServiceProcesses;

  beforeEach(async () => {
    file = join(mkdtempSync(join(variable('TEST_WORK_DIRECTORY'), 'keys-')), 'keys');
    writeFileSync(file, OLD);
    replicas = await ServiceProcesses.start(2, ldif, { URL_SIGNING_KEYS_FILE: file });
  });

  afterEach(() => replicas.stop());

  it('are rotated without a rejected URL: append, put first, remove', async () => {
    const [first] = replicas.each;
    const lastOfOld = first === undefined ? '' : await signedBy(first);
    for (const keys of [`${OLD},${NEW}`, `${NEW},${OLD}`]) {
      writeFileSync(file, keys);
      expect([...(await restartEach(replicas))]).toEqual([200]);
    }
    // It is valid for an hour, in which the former key stays.
    for (const { port } of replicas.each)
      expect((await fetch(`http://127.0.0.1:${port}${lastOfOld}`)).status).toBe(200);
    writeFileSync(file, NEW);
    expect([...(await restartEach(replicas))]).toEqual([200]);
  });
});

describe('the generated key of two processes', () => {
  let replicas: ServiceProcesses;

  beforeAll(async () => {
    replicas = await ServiceProcesses.start(2, ldif);
  });

  afterAll(() => replicas.stop());

  const rotate = (...args: string[]): Promise<TestProcess> =>
    runCommand(['signing-key', 'rotate', ...args], { DATABASE_URL: replicas.database.url });

  it('is rotated by the command without a rejected URL', async () => {
    const [first] = replicas.each;
    const lastOfOld = first === undefined ? '' : await signedBy(first);
    const steps: string[] = [];
    for (let round = 0; round < 2; round++) {
      steps.push((await rotate('--json')).stdout);
      expect([...(await restartEach(replicas))]).toEqual([200]);
    }
    expect(steps.map((step) => (JSON.parse(step) as { step: string }).step)).toEqual(['added', 'changed']);
    const status = async () =>
      Promise.all(
        replicas.each.map(async ({ port }) => (await fetch(`http://127.0.0.1:${port}${lastOfOld}`)).status),
      );
    expect(await status()).toEqual([200, 200]);
    const { code, stdout } = await rotate('--now');
    expect([code, stdout]).toEqual([0, expect.stringContaining('are then invalid') as string]);
    for (const replica of replicas.each) await replica.restart();
    expect(await status()).toEqual([403, 403]);
  });

  it('is not rotated if the keys are in the settings', async () => {
    const { code, stderr } = await runCommand(['signing-key', 'rotate'], {
      DATABASE_URL: replicas.database.url,
      URL_SIGNING_KEYS: OLD,
    });
    expect([code, stderr]).toEqual([
      2,
      expect.stringContaining('The keys are in URL_SIGNING_KEYS') as string,
    ]);
  });
});
