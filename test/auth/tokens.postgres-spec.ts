import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { decodeProtectedHeader } from 'jose';
import { ExternalIssuerProcess, type SignRequest } from '../support/servers/external-issuer.js';
import { type Forgery, forgeTokens, type PublishedKey } from '../support/builders/forged-tokens.js';
import type { Answer } from '../support/clients/graphql.js';
import { TestService } from '../support/servers/service.js';
import { wrongTokens } from '../support/wrong-claims.js';
import { forSuite } from '../support/for-suite.js';

const WHO = '{ currentToken { kind } }';
const AUDIENCE = 'urn:test:directory';
/** Seconds. */
const HOUR = 3600;
/** The minimum number of the requirement. */
const MUTATIONS = 120;
const AT_ONCE = 8;

function now(): number {
  return Math.floor(Date.now() / 1000);
}

function sendRequest(service: TestService, authorization: string): Promise<Answer> {
  return service.query(WHO, { authorization });
}

/** Sends a request with each token, a few at a time. */
async function statusesOf(service: TestService, authorizations: readonly string[]): Promise<number[]> {
  const statuses: number[] = [];
  const queue = authorizations.entries();
  const work = async () => {
    for (const [index, authorization] of queue)
      statuses[index] = (await sendRequest(service, authorization)).status;
  };
  await Promise.all(Array.from({ length: AT_ONCE }, work));
  return statuses;
}

describe('an access token', () => {
  const issuer = forSuite(() => ExternalIssuerProcess.start());
  const service = TestService.forSuite(() => ({ environment: issuer.environment }));
  let foreignServer: Server;
  let foreignRequests = 0;

  beforeAll(async () => {
    foreignServer = createServer((_request, response) => {
      foreignRequests += 1;
      response.end();
    });
    await new Promise<void>((resolve) => foreignServer.listen(0, '127.0.0.1', resolve));
  });

  afterAll(() => new Promise((resolve) => foreignServer.close(resolve)));

  async function publishedKeys(): Promise<PublishedKey[]> {
    const response = await fetch(`${issuer.url}/oauth2/jwks`);
    return ((await response.json()) as { keys: PublishedKey[] }).keys;
  }

  it.each(['RS256', 'ES256', 'EdDSA'])('is accepted if the issuer has signed it with %s', async (alg) =>
    expect((await sendRequest(service, await issuer.sign({ header: { alg } }))).status).toBe(200),
  );

  it('is rejected if the issuer has not signed it, with any header', async () => {
    const token = (await issuer.sign()).slice('Bearer '.length);
    const keys = await publishedKeys();
    const { port } = foreignServer.address() as AddressInfo;
    const forgeries = forgeTokens({ token, keys, foreignServer: `http://127.0.0.1:${port}/keys` });
    expect(forgeries.length).toBeGreaterThan(MUTATIONS);
    const statuses = await statusesOf(
      service,
      forgeries.map(([, forged]) => `Bearer ${forged}`),
    );
    const wrong = forgeries.filter(([, forged], index) => {
      const status = statuses[index];
      return status !== 401 && !(status === 503 && isOfUnknownKey(forged, keys));
    });
    expect(wrong.map(([what]) => what)).toEqual([]);
    expect(foreignRequests).toBe(0);
    expect((await sendRequest(service, `Bearer ${token}`)).status).toBe(200);
  });

  /** For tokens with an unknown key, the result is unknown once the keys were fetched three times. */
  function isOfUnknownKey(token: Forgery[1], keys: readonly PublishedKey[]): boolean {
    try {
      const { kid, alg } = decodeProtectedHeader(token);
      return /^(RS|PS|ES|Ed)/.test(alg ?? '') && !keys.some((key) => key.kid === kid && key.alg === alg);
    } catch {
      return false;
    }
  }

  it('is rejected if the issuer has signed it for another purpose', async () => {
    const wrong = wrongTokens(issuer.url, AUDIENCE, now());
    const tokens = await Promise.all(wrong.map(([, request]) => issuer.sign(request)));
    const statuses = await statusesOf(service, tokens);
    expect(wrong.filter((_, index) => statuses[index] !== 401).map(([what]) => what)).toEqual([]);
  });

  it.each<[string, (shift: number) => SignRequest, number, number]>([
    ['exp', (shift) => ({ payload: { exp: now() + shift } }), -59, -61],
    ['nbf', (shift) => ({ payload: { nbf: now() + shift } }), 59, 61],
    ['iat', (shift) => ({ payload: { iat: now() + shift } }), 59, 61],
  ])(
    'is accepted if clocks differ by 59 seconds at its %s, and rejected at 61, for each kind of token',
    async (_claim, request, near, far) => {
      const jwt = (shift: number) => issuer.sign(request(shift));
      const opaque = (shift: number) => {
        const { payload } = request(shift);
        return issuer.opaque({ active: true, sub: 'anna', ...(payload as object) });
      };
      for (const make of [jwt, opaque]) {
        expect(await judgeWithinSecond(() => make(near))).toBe(200);
        expect(await judgeWithinSecond(() => make(far))).toBe(401);
      }
    },
  );

  /** Creates a token and uses it within the same second of the clock. */
  async function judgeWithinSecond(make: () => Promise<string>): Promise<number> {
    for (;;) {
      const before = now();
      const { status } = await sendRequest(service, await make());
      if (now() === before) return status;
    }
  }

  it('is valid only if introspection returns the boolean true', async () => {
    const claims = { sub: 'anna', scope: 'read', aud: AUDIENCE, exp: now() + HOUR };
    const like = ['true', 'TRUE', 'yes', '1', '', 1, 0, -1, [], [true], {}, { active: true }, null, false];
    const tokens = await Promise.all(like.map((active) => issuer.opaque({ ...claims, active })));
    expect(await statusesOf(service, tokens)).toEqual(like.map(() => 401));
    expect((await sendRequest(service, await issuer.opaque({ ...claims, active: true }))).status).toBe(200);
  });
});
