import { buildLdif } from '../support/builders/directory.js';
import { dataOf, get, type HttpAnswer, post, refusalOf } from '../support/clients/http.js';
import { TestService } from '../support/servers/service.js';

const CHEAP = '{ buildInfo { __typename } }';
/** Costs three points. */
const EXPENSIVE =
  '{ groups(first: 100) { nodes { parents(first: 1) { nodes { id } } subgroups(first: 1) { nodes { id } } } } }';

/** The limits of a response: name → parameters. */
function rateLimits(
  { headers }: HttpAnswer,
  field: 'ratelimit' | 'ratelimit-policy',
): Record<string, string> {
  const members = String(headers[field]).split(', ');
  return Object.fromEntries(
    members.map((member) => /^"(\w+)";(.+)$/.exec(member)?.slice(1, 3) as [string, string]),
  );
}

describe('a service of 5 requests a minute', () => {
  const service = TestService.forSuite({
    ldif: buildLdif([{ id: 'anna' }]),
    environment: { LIMIT_REQUESTS_PER_MINUTE: '5', TRUSTED_PROXIES: '127.0.0.1' },
  });

  async function spend(sendRequest: () => Promise<HttpAnswer>): Promise<void> {
    for (let left = 4; left >= 0; left--) {
      const answer = await sendRequest();
      expect(answer.status).not.toBe(429);
      expect(rateLimits(answer, 'ratelimit-policy')['requests']).toBe('q=5;w=60');
      expect(rateLimits(answer, 'ratelimit')['requests']).toMatch(
        new RegExp(`^r=${left};t=([1-9]|[1-5]\\d|60)$`),
      );
    }
    const refused = await sendRequest();
    expect(refusalOf(refused)).toEqual([429, 'RATE_LIMITED']);
    expect(refused.headers['retry-after']).toMatch(/^([1-9]|[1-5]\d|60)$/);
    expect(rateLimits(refused, 'ratelimit-policy')['requests']).toBe('q=5;w=60');
    expect(rateLimits(refused, 'ratelimit')['requests']).toBe(`r=0;t=${refused.headers['retry-after']}`);
  }

  it('counts by address without a token', async () => {
    await spend(() => get(service, { query: CHEAP }, { 'x-forwarded-for': '192.0.2.1' }));
    expect(dataOf(await get(service, { query: CHEAP }, { 'x-forwarded-for': '192.0.2.2' }))).toBeTruthy();
  });

  it('counts by principal with a token, from any address', async () => {
    const [first, second] = [await service.serviceAccount('read'), await service.serviceAccount('read')];
    let host = 0;
    await spend(() =>
      post(service, { query: CHEAP }, { authorization: first, 'x-forwarded-for': `198.51.100.${++host}` }),
    );
    expect(dataOf(await post(service, { query: CHEAP }, { authorization: second }))).toBeTruthy();
  });

  it('counts several tokens of a client together', async () => {
    const tokens = [await service.accessToken('read'), await service.accessToken('profile read')];
    let turn = 0;
    await spend(() => get(service, { query: CHEAP }, { authorization: tokens[turn++ % 2] ?? '' }));
  });

  it('counts invalid requests, and attempts with invalid tokens', async () => {
    await spend(() => post(service, '{', { 'x-forwarded-for': '192.0.2.3' }));
    await spend(() =>
      get(service, { query: CHEAP }, { authorization: 'Bearer x', 'x-forwarded-for': '192.0.2.4' }),
    );
  });

  it('does not count requests outside the endpoint', async () => {
    for (let count = 0; count < 10; count++) {
      expect((await fetch(`${service.url}/_health`)).status).toBe(200);
    }
  });
});

describe('a service of 10 points an hour', () => {
  const service = TestService.forSuite({ environment: { LIMIT_POINTS_PER_HOUR: '10' } });

  it('charges the cost of each operation, and rejects one that costs more than is left', async () => {
    const authorization = await service.serviceAccount('read');
    for (const left of [7, 4, 1]) {
      const answer = await post(service, { query: EXPENSIVE }, { authorization });
      expect(dataOf(answer)).toEqual({ groups: { nodes: [] } });
      expect(rateLimits(answer, 'ratelimit-policy')['points']).toBe('q=10;w=3600');
      expect(rateLimits(answer, 'ratelimit')['points']).toMatch(
        new RegExp(`^r=${left};t=\\d+;directory-cost=3$`),
      );
    }
    for (let again = 0; again < 2; again++) {
      const refused = await post(service, { query: EXPENSIVE }, { authorization });
      expect(refusalOf(refused)).toEqual([429, 'RATE_LIMITED']);
      expect(Number(refused.headers['retry-after'])).toBeGreaterThan(3500);
      const reset = refused.headers['retry-after'];
      expect(rateLimits(refused, 'ratelimit')['points']).toBe(`r=1;t=${reset};directory-cost=3`);
    }
    // Rejected operations are not charged.
    const last = await post(service, { query: '{ rateLimit { limit cost remaining } }' }, { authorization });
    expect(dataOf(last)).toEqual({ rateLimit: { limit: 10, cost: 1, remaining: 0 } });
    expect(refusalOf(await post(service, { query: CHEAP }, { authorization }))).toEqual([
      429,
      'RATE_LIMITED',
    ]);
  });

  it('charges nothing for operations that are not executed', async () => {
    const authorization = await service.serviceAccount('read');
    const remaining = async () => {
      const query = '{ rateLimit(dryRun: true) { remaining } }';
      return dataOf(await post(service, { query }, { authorization }));
    };
    expect(await remaining()).toEqual({ rateLimit: { remaining: 10 } });
    for (const query of [
      '{',
      '{ nothing }',
      '{ users(first: 100) { totalCount } }',
      '{ groups { totalCount } }',
    ]) {
      expect((await post(service, { query }, { authorization })).status).toBeGreaterThanOrEqual(400);
    }
    expect(await remaining()).toEqual({ rateLimit: { remaining: 10 } });
  });
});
