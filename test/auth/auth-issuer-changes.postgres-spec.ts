import { buildLdif } from '../support/builders/directory.js';
import { ExternalIssuerProcess } from '../support/servers/external-issuer.js';
import { TestService } from '../support/servers/service.js';

const LDIF = buildLdif([{ id: 'anna', name: 'Anna' }]);

async function statusOf(service: TestService, authorization: string): Promise<number> {
  const { status, headers, errors } = await service.query('{ currentToken { kind } }', { authorization });
  if (status === 503) {
    expect(Number(headers.get('retry-after'))).toBeGreaterThan(0);
    expect(errors).toMatchObject([{ extensions: { code: 'SERVICE_UNAVAILABLE' } }]);
  }
  return status;
}

describe('an issuer that rotates its keys', () => {
  let issuer: ExternalIssuerProcess;
  let service: TestService;

  beforeEach(async () => {
    issuer = await ExternalIssuerProcess.start();
    service = await TestService.start({ ldif: LDIF, environment: issuer.environment });
  });

  afterEach(async () => {
    await service.stop();
    await issuer.stop();
  });

  it('has tokens of the new key accepted immediately, and those of the old one while it is published', async () => {
    const seen = await issuer.sign();
    const unseen = await issuer.sign();
    expect(await statusOf(service, seen)).toBe(200);
    await issuer.rotate({ drop: false });
    const fresh = await Promise.all(Array.from({ length: 10 }, () => issuer.sign()));
    const statuses = await Promise.all(fresh.map((token) => statusOf(service, token)));
    expect(new Set(statuses)).toEqual(new Set([200]));
    expect([await statusOf(service, seen), await statusOf(service, unseen)]).toEqual([200, 200]);
    expect(await issuer.countRequests('/oauth2/jwks')).toBe(2);

    // Without a key id, all known keys are tried, then fetched ones.
    const header = { kid: null };
    expect(await statusOf(service, await issuer.sign({ header }))).toBe(200);
    await issuer.rotate({ drop: false });
    expect(await statusOf(service, await issuer.sign({ header }))).toBe(200);
    expect(await issuer.countRequests('/oauth2/jwks')).toBe(3);
  });

  it('has tokens of a withdrawn key rejected, and no valid one however often it rotates', async () => {
    const [seen, old] = [await issuer.sign(), await issuer.sign()];
    expect(await statusOf(service, seen)).toBe(200);
    await issuer.rotate({ drop: true });
    expect(await statusOf(service, await issuer.sign())).toBe(200);
    expect(await statusOf(service, old)).toBe(401);

    // The keys have been fetched three times within the minute.
    const last = await issuer.sign();
    for (let change = 0; change < 3; change++) {
      await issuer.rotate({ drop: true });
      expect(await statusOf(service, await issuer.sign())).toBe(503);
    }
    expect(await statusOf(service, last)).toBe(200);
    expect(await issuer.countRequests('/oauth2/jwks')).toBe(3);
  });
});

describe('an unavailable issuer', () => {
  let issuer: ExternalIssuerProcess;
  let service: TestService;

  beforeAll(async () => {
    issuer = await ExternalIssuerProcess.start();
  });

  afterAll(async () => {
    await service.stop();
    await issuer.stop();
  });

  async function restart(): Promise<void> {
    issuer = await ExternalIssuerProcess.start(Number(new URL(issuer.url).port));
  }

  it('causes neither accepted nor rejected tokens, from the start of the service until it is available', async () => {
    const early = await issuer.sign();
    await issuer.stop();
    service = await TestService.start({ ldif: LDIF, environment: issuer.environment });
    expect((await service.query('{ buildInfo { version } }')).status).toBe(200);
    expect(await statusOf(service, early)).toBe(503);
    expect(await statusOf(service, 'Bearer opaque')).toBe(503);

    await restart();
    const jwt = await issuer.sign();
    await service.until(async () => (await statusOf(service, jwt)) === 200);
    // Signed by the former process, with a key that no longer exists.
    expect(await statusOf(service, early)).toBe(401);
  });
});
