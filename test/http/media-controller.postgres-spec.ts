import { createHash } from 'node:crypto';
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { STATUS_CODES } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import { Logger } from '@nestjs/common';
import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import { Test } from '@nestjs/testing';
import type { Pool } from 'pg';
import sharp from 'sharp';
import { DataSource } from 'typeorm';
import { insertObject, writeFirstRevision } from '../support/builders/first-revision.js';
import { createDatabase, type TestDatabase } from '../support/servers/store.js';
import { AccessLogModule } from '../../src/access-log/access-log.module.js';
import { readConfig } from '../../src/config/config.js';
import { ConfigModule } from '../../src/config/config.module.js';
import { markOfRules } from '../../src/config/model/mapping.js';
import { Database } from '../../src/database/database.js';
import { DatabaseModule } from '../../src/database/database.module.js';
import { statementChannel, type Statement } from '../../src/database/statements/statement.js';
import { ifWrittenWith } from '../../src/database/visibility/rules-in-mirror.js';
import { HttpAdapter } from '../../src/http/http-adapter.js';
import { RethrowFilter } from '../../src/http/rejection.js';
import { MediaModule } from '../../src/media/media.module.js';
import { PICTURE_REJECTIONS } from '../../src/media/media.controller.js';
import { signUrl } from '../../src/media/signing/signed-url.js';
import { SIGNING_KEYS, type SigningKeys } from '../../src/media/signing/signing-keys.js';

const ID = 'Jörg / Müßig 100% 👩‍🏫 '.padEnd(120, 'x');

let database: TestDatabase;
let app: NestFastifyApplication;
let dataSource: DataSource;
let key: Buffer;
const logged: unknown[] = [];
const statements: string[] = [];
const noteStatement = (message: unknown) => void statements.push((message as Statement).text);

beforeAll(async () => {
  for (const level of ['log', 'warn', 'error', 'debug', 'verbose'] as const) {
    jest
      .spyOn(Logger.prototype, level)
      .mockImplementation((...parts: unknown[]) => void logged.push(...parts));
  }
  subscribe(statementChannel.start.name, noteStatement);
  database = await createDatabase();
  const config = readConfig({
    DATABASE_URL: database.url,
    BASE_URL: 'https://directory.example/school',
  });
  const module = await Test.createTestingModule({
    imports: [
      ConfigModule.forRoot(config),
      DatabaseModule.forRoot(config, [], false),
      AccessLogModule,
      MediaModule,
    ],
  }).compile();
  app = module.createNestApplication<NestFastifyApplication>(new HttpAdapter(config, [PICTURE_REJECTIONS]));
  app.useGlobalFilters(new RethrowFilter());
  await app.listen(0, '127.0.0.1');
  dataSource = app.get(DataSource);
  key = app.get<SigningKeys>(SIGNING_KEYS).signing;
  await writeFirstRevision(dataSource, markOfRules(app.get(Database).rules));
  await addPictures();
});

afterAll(async () => {
  await app.close();
  await database.drop();
  jest.restoreAllMocks();
  unsubscribe(statementChannel.start.name, noteStatement);
});

async function addPictures(): Promise<void> {
  const photo = await sharp({ create: { width: 300, height: 400, channels: 3, background: '#806040' } })
    .withExif({ IFD0: { Make: 'A camera' } })
    .jpeg()
    .toBuffer();
  const broken = photo.subarray(0, 200);
  for (const bytes of [photo, broken]) {
    await dataSource.query('insert into pictures (sha256, bytes) values ($1, $2)', [digest(bytes), bytes]);
  }
  await insertObject(dataSource, 'users', ID, { photo: digest(photo) });
  await insertObject(dataSource, 'users', 'broken', { photo: digest(broken), picture: digest(broken) });
}

const digest = (bytes: Buffer) => createHash('sha256').update(bytes).digest();

/** Returns the path and query of a signed URL, including the path of the base URL. */
function signed(overrides: Partial<Parameters<typeof signUrl>[0]> = {}): string {
  const whole = { baseUrl: '/school', kind: 'photo', id: ID, size: null } as const;
  return signUrl({ ...whole, now: new Date(), key, ...overrides });
}

function get(url: string, headers: Record<string, string> = {}) {
  return app.inject({ method: 'GET', url, headers });
}

const EVERYWHERE = {
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
  'cross-origin-resource-policy': 'cross-origin',
};

function expectProblem(response: Awaited<ReturnType<typeof get>>, status: number, code: string): void {
  expect(response.statusCode).toBe(status);
  expect(response.headers).toMatchObject({
    ...EVERYWHERE,
    'content-type': 'application/problem+json',
    'cache-control': 'no-store',
  });
  expect(response.json()).toEqual({
    title: STATUS_CODES[status],
    status,
    code,
    detail: expect.not.stringContaining('secret') as string,
    requestId: expect.any(String) as string,
  });
  expect(response.body).not.toMatch(/[0-9a-f]{64}/);
}

describe('a signed URL', () => {
  it('returns the picture, without its metadata', async () => {
    const response = await get(signed());
    expect(response.statusCode).toBe(200);
    expect(response.headers).toMatchObject({
      ...EVERYWHERE,
      'content-type': 'image/jpeg',
      'content-length': String(response.rawPayload.length),
      vary: 'Accept',
      etag: expect.stringMatching(/^"[\w-]+"$/) as string,
    });
    expect(await sharp(response.rawPayload).metadata()).toMatchObject({
      format: 'jpeg',
      width: 300,
      height: 400,
    });
    expect(response.rawPayload.includes('A camera')).toBe(false);
    // Behind a proxy that strips the path of the base URL.
    expect((await get(signed({ baseUrl: '' }))).rawPayload).toEqual(response.rawPayload);
  });

  it('may be cached until its expiry, by the client only', async () => {
    const { headers } = await get(signed({ now: new Date(Date.now() - 1_800_000) }));
    const [, maxAge] = /^private, max-age=(\d+)$/.exec(String(headers['cache-control'])) ?? [];
    expect(Number(maxAge)).toBeGreaterThanOrEqual(1795);
    expect(Number(maxAge)).toBeLessThanOrEqual(2700);
  });

  it('returns the size it is signed for, in the format that Accept prefers', async () => {
    for (const [accept, type] of [
      ['image/webp,*/*;q=0.8', 'image/webp'],
      ['image/avif,image/webp,*/*;q=0.8', 'image/avif'],
      ['*/*', 'image/jpeg'],
    ] as const) {
      const response = await get(signed({ size: 64 }), { accept });
      expect(response.headers).toMatchObject({ 'content-type': type, vary: 'Accept' });
      expect(await sharp(response.rawPayload).metadata()).toMatchObject({ width: 48, height: 64 });
    }
  });

  it('responds to HEAD like to GET, without the body', async () => {
    const url = signed();
    const [whole, head] = [await get(url), await app.inject({ method: 'HEAD', url })];
    expect(head.statusCode).toBe(200);
    expect(head.rawPayload).toHaveLength(0);
    for (const name of ['content-length', 'content-type', 'etag', 'vary', 'cache-control']) {
      expect(head.headers[name]).toBe(whole.headers[name]);
    }
  });

  it('responds to a matching ETag with 304, without reading the picture', async () => {
    const url = signed({ size: 256 });
    const etag = String((await get(url)).headers.etag);
    statements.length = 0;
    for (const ifNoneMatch of [etag, `W/${etag}`, `"x", ${etag}`, '*']) {
      const response = await get(url, { 'if-none-match': ifNoneMatch });
      expect(response.statusCode).toBe(304);
      expect(response.rawPayload).toHaveLength(0);
      expect(response.headers).toMatchObject({ ...EVERYWHERE, etag, vary: 'Accept' });
      expect(response.headers['cache-control']).toMatch(/^private, max-age=\d+$/);
    }
    expect(statements).toEqual(
      Array(4).fill(
        `select u.photo, ${ifWrittenWith(app.get(Database).rules, 's.revision_uuid')} from mirror_state s
     left join users u on u.id_folded = $1 and (u.visible_to = 0 or $2::boolean)
     where (select is_complete from database_complete)`,
      ),
    );
    expect((await get(url, { 'if-none-match': '"x"' })).statusCode).toBe(200);
    expect((await get(url, { 'if-none-match': etag, accept: 'image/webp' })).statusCode).toBe(200);
  });
});

describe('a rejection', () => {
  it('is 400 without parameters', async () => {
    const path = signed().split('?')[0] ?? '';
    expectProblem(await get(path), 400, 'BAD_REQUEST');
    expectProblem(await get(`${path}?expires=1`), 400, 'BAD_REQUEST');
    expectProblem(await get('/photo/v1/'), 400, 'BAD_REQUEST');
  });

  it('is 403 for a changed URL, before anything is read', async () => {
    statements.length = 0;
    const url = signed({ id: 'nobody' });
    for (const changed of [
      url.replace('nobody', 'somebody'),
      url.replace('/photo/', '/picture/'),
      `${url}&size=64`,
      url.replace('nobody', 'no%2562ody'),
      url.replace('nobody', 'no/body'),
      signed({ key: Buffer.alloc(32) }),
      signed({ key: Buffer.alloc(32), now: new Date(0) }),
    ]) {
      expectProblem(await get(changed), 403, 'SIGNATURE_INVALID');
    }
    expect(statements).toEqual([]);
  });

  it('is 403 with a code of its own for an expired URL', async () => {
    expectProblem(await get(signed({ now: new Date(Date.now() - 4_501_000) })), 403, 'URL_EXPIRED');
  });

  it('is 404 for an unknown user, without a picture, or with an invalid one', async () => {
    for (const url of [
      signed({ id: 'nobody' }),
      signed({ kind: 'picture' }),
      signed({ id: 'broken' }),
      signed({ id: 'broken', kind: 'picture', size: 64 }),
    ]) {
      expectProblem(await get(url), 404, 'NOT_FOUND');
    }
  });

  it('is 405 for methods that do not read', async () => {
    for (const method of ['POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'] as const) {
      const response = await app.inject({ method, url: signed() });
      expectProblem(response, 405, 'METHOD_NOT_ALLOWED');
      expect(response.headers.allow).toBe('GET, HEAD');
    }
  });

  it('is the result of any single changed bit on the wire', async () => {
    const { port } = app.getHttpServer().address() as AddressInfo;
    const url = Buffer.from(signed({ size: 64 }), 'latin1');
    expect(await statusOf(port, url)).toBe(200);
    const statuses = new Set<number>();
    // A test of every bit is too slow here. A step that is coprime to 8 visits each position of the byte.
    for (let bit = 0; bit < url.length * 8; bit += 3) {
      const changed = Buffer.from(url);
      changed.writeUInt8(changed.readUInt8(bit >> 3) ^ (1 << (bit & 7)), bit >> 3);
      // Another case of a hexadecimal digit of a percent-encoding is the same URL.
      if (changed.toString('latin1').replace(/%../g, (text) => text.toUpperCase()) === url.toString('latin1'))
        continue;
      statuses.add(await statusOf(port, changed));
    }
    expect([...statuses].sort()).toEqual([400, 403, 404]);
  });
});

/** Returns the status of a GET whose target is written to the socket without encoding. */
function statusOf(port: number, target: Buffer): Promise<number> {
  return new Promise((resolve, reject) => {
    const socket = connect(port, '127.0.0.1');
    socket.on('error', reject);
    socket.once('data', (data) => {
      resolve(Number(data.subarray(9, 12).toString()));
      socket.destroy();
    });
    socket.write(Buffer.concat([Buffer.from('GET '), target, Buffer.from(' HTTP/1.1\r\nHost: x\r\n\r\n')]));
  });
}

/** Returns the response to a valid URL while the database fails with this error. */
async function getWithout(database: Error): Promise<Awaited<ReturnType<typeof get>>> {
  const connect = jest
    .spyOn((dataSource.driver as unknown as { master: Pool }).master, 'connect')
    .mockImplementation(() => Promise.reject(database));
  return get(signed({ size: 128 })).finally(() => {
    connect.mockRestore();
  });
}

describe('a failure', () => {
  it('of the connection to the database causes 503', async () => {
    const response = await getWithout(Object.assign(new Error('refused'), { code: 'ECONNREFUSED' }));
    expectProblem(response, 503, 'SERVICE_UNAVAILABLE');
    expect(response.headers['retry-after']).toBe('1');
  });

  it('of the service is masked, and logged once without the URL', async () => {
    const response = await getWithout(new Error('a secret'));
    expectProblem(response, 500, 'INTERNAL_SERVER_ERROR');
    const log = logged.join('\n');
    expect(log.split(`Request ${response.json<{ requestId: string }>().requestId} failed`)).toHaveLength(2);
    expect(log.split('a secret')).toHaveLength(2);
    expect(log).not.toMatch(/signature=|[0-9a-f]{64}\b(?! cannot be decoded)/);
  });
});
