import { decodeProtectedHeader } from 'jose';
import { ExternalIssuer, keysOf } from '../../src/auth/tokens/issuer.js';
import { verifySignature } from '../../src/auth/tokens/token-verifier.js';
import { buildLdif } from '../support/builders/directory.js';
import { eventually } from '../support/eventually.js';
import { forSuite } from '../support/for-suite.js';
import { ExternalIssuerProcess, type IssuerOverride } from '../support/servers/external-issuer.js';
import { TestProxy } from '../support/servers/proxy.js';
import { TestService } from '../support/servers/service.js';

const OPAQUE = { active: true, sub: 'anna', scope: 'read' };
/** Seconds. */
const MINUTE = 60;

const TRUNCATED = 'HTTP/1.1 200 OK\r\ncontent-length: 99\r\n\r\n{"active":true';
/** Responses that a careless client could accept as an introspection result or as a key set. */
const INVALID_RESPONSES: [string, IssuerOverride][] = [
  ['500', { status: 500, body: JSON.stringify(OPAQUE) }],
  ['401, to a client that it does not know any more', { status: 401, body: '{"error":"invalid_client"}' }],
  ['202, and that a token is good', { status: 202, body: JSON.stringify(OPAQUE) }],
  ['a page to sign in', { headers: { 'content-type': 'text/html' }, body: '<html>Welcome</html>' }],
  ['a redirect', { status: 302, headers: { location: 'http://127.0.0.1:9/' } }],
  ['a list', { body: `[${JSON.stringify(OPAQUE)}]` }],
  ['a truncated object', { body: JSON.stringify(OPAQUE).slice(0, -1) }],
  ['an endless body', { body: '[', times: 5_000_000 }],
  ['symmetric keys', { body: '{"keys":[{"kty":"oct","k":"AAAA"}]}' }],
];

function tokenOf(authorization: string): string {
  return authorization.slice('Bearer '.length);
}

describe('a faulty identity provider', () => {
  const target = { host: '127.0.0.1', port: 0 };
  const proxy = forSuite(() => TestProxy.start(target));
  let issuer: ExternalIssuerProcess;
  let service: TestService;
  /** Only the keys, with a fake clock, so that no test waits until they may be fetched again. */
  let keys: ReturnType<typeof keysOf>;
  let seconds = 0;
  /** Valid tokens that no request has used, of a known key. */
  let unseen: string[];
  /** Tokens that are never accepted. */
  let bad: Record<'stranger' | 'forged' | 'expired', string>;
  let count = 0;

  beforeAll(async () => {
    issuer = await ExternalIssuerProcess.start(0, `http://127.0.0.1:${proxy.port}`);
    target.port = issuer.port;
    service = await TestService.start({ ldif: buildLdif([{ id: 'anna' }]), environment: issuer.environment });
    expect(await statusOf(await issuer.sign())).toBe(200);
    unseen = await Promise.all(Array.from({ length: 40 }, () => issuer.sign()));
    const header = { ...decodeProtectedHeader(tokenOf(unseen[0] ?? '')) };
    bad = {
      stranger: await issuer.sign({ stranger: true }),
      forged: await issuer.sign({ stranger: true, header }),
      expired: await issuer.sign({ payload: { exp: 1 } }),
    };
    const external = new ExternalIssuer(issuer.url, { introspection: null, certificates: null });
    keys = keysOf(
      () => external.fetchKeys(),
      () => seconds * 1000,
    );
  });

  afterAll(async () => {
    await service.stop();
    await issuer.stop();
  });

  async function statusOf(authorization: string): Promise<number> {
    const { status, headers } = await service.query('{ currentToken { kind } }', { authorization });
    if (status === 503) expect(headers.get('retry-after')).toMatch(/^[1-9]\d*$/);
    return status;
  }

  /** «good», or the code of the error. */
  async function judgeByKeys(authorization: string): Promise<string> {
    const token = tokenOf(authorization);
    try {
      await verifySignature(token, keys);
      return 'good';
    } catch (error) {
      return (error as { code: string }).code;
    }
  }

  async function callers() {
    const [remembered, unknown] = [await issuer.opaque(OPAQUE), await issuer.opaque(OPAQUE)];
    await eventually(() => statusOf(remembered), 200);
    count += 1;
    return { remembered, unknown, jwt: unseen.pop() ?? '', invented: `Bearer made-up-${count}`, ...bad };
  }

  /**
   * Known tokens stay accepted, no other token is accepted, no valid token is rejected as invalid, and after the fault all tokens
   * are accepted again.
   */
  async function expectSafety(fail: () => void | Promise<void>, restore: () => void | Promise<void>) {
    const asked = await callers();
    seconds += MINUTE;
    expect(await judgeByKeys(asked.jwt)).toBe('good');
    await fail();
    const [statuses, readiness, ofUnknownKey] = await Promise.all([
      Promise.all(Object.values(asked).map(statusOf)),
      fetch(`${service.url}/_readiness`),
      judgeByKeys(asked.stranger),
    ]);
    const ofKnownKey = await judgeByKeys(asked.jwt);
    expect(Object.fromEntries(Object.keys(asked).map((name, index) => [name, statuses[index]]))).toEqual({
      remembered: 200,
      jwt: 200,
      unknown: 503,
      invented: 503,
      stranger: 503,
      forged: 401,
      expired: 401,
    });
    expect([readiness.status, ofKnownKey, ofUnknownKey]).toEqual([200, 'good', 'SERVICE_UNAVAILABLE']);
    await restore();
    // Old connections may be dead, and each is detected separately.
    await eventually(() => statusOf(asked.unknown), 200);
    await eventually(() => statusOf(asked.invented), 401);
    const judgeAMinuteLater = () => {
      seconds += MINUTE;
      return judgeByKeys(asked.stranger);
    };
    await eventually(judgeAMinuteLater, 'ERR_JWKS_NO_MATCHING_KEY');
  }

  it('has every valid token accepted while it rotates its keys, and is slow', async () => {
    proxy.slow(100);
    for (let change = 0; change < 2; change++) {
      const old = await Promise.all(Array.from({ length: 5 }, () => issuer.sign()));
      await issuer.rotate({ drop: false });
      const fresh = await Promise.all(Array.from({ length: 10 }, () => issuer.sign()));
      const statuses = await Promise.all([...old, ...fresh].map(statusOf));
      expect(new Set(statuses)).toEqual(new Set([200]));
    }
    proxy.restore();
  });

  it.each<[string, () => void, (() => void)?]>([
    ['refuses every connection', () => proxy.refuse()],
    ['resets every connection', () => proxy.reset()],
    ['does not respond', () => proxy.freeze()],
    ['is slower than the timeout', () => proxy.slow(3000)],
    ['stops in the middle of a response', () => proxy.respondWith(TRUNCATED)],
    ['hangs', () => issuer.freeze(), () => issuer.unfreeze()],
  ])(
    'that %s causes neither accepted nor rejected tokens',
    async (_what, fail, restore = () => proxy.restore()) => {
      await expectSafety(fail, restore);
    },
  );

  it.each(INVALID_RESPONSES)(
    'with responses of %s causes neither accepted nor rejected tokens',
    async (_what, nonsense) => {
      await expectSafety(
        () => issuer.respondWith(nonsense),
        () => issuer.resume(),
      );
    },
  );
});
