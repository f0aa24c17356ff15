import { DataSource } from 'typeorm';
import { buildLdif } from '../support/builders/directory.js';
import { dataOf, post, refusalOf, send } from '../support/clients/http.js';
import { TestService } from '../support/servers/service.js';

const QUERY = '{ directoryStatus { state } }';
const ANSWER = { directoryStatus: { state: 'IDLE' } };

describe('a service that receives SIGTERM', () => {
  let service: TestService;
  let ended: Promise<void> | null = null;

  beforeAll(async () => {
    service = await TestService.start({ ldif: buildLdif([{ id: 'anna' }]) });
  });

  afterAll(async () => {
    await ended;
    await service.stop();
  });

  it('is not ready from then on, serves new requests for a while, and then ends', async () => {
    expect(dataOf(await post(service, { query: QUERY }))).toEqual(ANSWER);
    const close = service.app.close.bind(service.app) as (signal: string) => Promise<void>;
    ended = close('SIGTERM');
    await service.until(async () => (await send(service, { path: '/_readiness' })).status === 503);
    const { body, headers } = await send(service, { path: '/_readiness' });
    expect(JSON.parse(body)).toMatchObject({ status: 'error', error: { process: { status: 'down' } } });
    expect(headers['retry-after']).toBe('1');
    expect((await send(service, { path: '/_health' })).status).toBe(200);
    expect(dataOf(await post(service, { query: QUERY }))).toEqual(ANSWER);
    await ended;
    await expect(send(service, { path: '/_health' })).rejects.toMatchObject({ code: 'ECONNREFUSED' });
  });
});

describe('a service that has closed its database', () => {
  const service = TestService.forSuite({
    ldif: buildLdif([{ id: 'anna' }]),
    environment: { LIMIT_FAILED_LOGINS: '2' },
  });

  it('rejects later requests with 503', async () => {
    const authorization = await service.serviceAccount('read');
    await service.app.get(DataSource).destroy();
    expect((await post(service, { query: QUERY })).status).toBe(503);
    // More often than a login may fail: the secret is not wrong.
    for (let time = 0; time < 4; time++) {
      const refused = await post(service, { query: QUERY }, { authorization });
      expect(refusalOf(refused)).toEqual([503, 'SERVICE_UNAVAILABLE']);
      expect(refused.headers['retry-after']).toBe('1');
    }
    await service.until(async () => (await send(service, { path: '/_readiness' })).status === 503);
    expect((await send(service, { path: '/photo/v1/anna?expires=1&signature=x' })).status).toBe(403);
  });
});
