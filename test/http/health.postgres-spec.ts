import { buildLdif } from '../support/builders/directory.js';
import { TestService } from '../support/servers/service.js';

interface Report {
  status: string;
  details: Record<string, { status: string } & Record<string, unknown>>;
}

describe('the health of a service', () => {
  const service = TestService.forSuite({ ldif: buildLdif([{ id: 'anna' }]) });

  async function report(): Promise<Report> {
    return (await (await fetch(`${service.url}/_readiness`)).json()) as Report;
  }

  it('is public, and is not cached', async () => {
    for (const path of ['/_health', '/_readiness']) {
      for (const method of ['GET', 'HEAD']) {
        const response = await fetch(`${service.url}${path}`, { method });
        expect(response.status).toBe(200);
        expect(response.headers.get('cache-control')).toContain('no-store');
        expect(response.headers.get('content-type')).toBe('application/json; charset=utf-8');
      }
    }
    expect(await (await fetch(`${service.url}/_health`)).json()).toEqual({ status: 'ok' });
  });

  it('contains the process, the database, the age of the mirror and the identity provider', async () => {
    const { status, details } = await report();
    expect(status).toBe('ok');
    expect(details).toEqual({
      process: { status: 'up' },
      database: { status: 'up' },
      mirror: { status: 'up', state: 'IDLE', ageSeconds: expect.any(Number) as number },
      identityProvider: { status: 'up', embedded: true },
    });
  });

  it('is also served on the port of metrics, which has no start page in production', async () => {
    const response = await fetch(`${service.url}/metrics`);
    expect([
      response.status,
      response.headers.get('content-type'),
      response.headers.get('cache-control'),
    ]).toEqual([200, 'text/plain; version=0.0.4; charset=utf-8', 'no-store']);
    expect(await response.text()).toContain(
      '\ndirectory_mirror_state{state="IDLE",service_name="directory-service"} 1\n',
    );
  });

  it('does not depend on the mirror: with a broken file, the service stays ready', async () => {
    service.replaceDirectory('this is no LDIF');
    await service.until(async () => (await report()).details['mirror']?.['state'] === 'FAILING');
    const { status, details } = await report();
    expect([status, details['mirror']?.status]).toEqual(['ok', 'up']);
    expect((await fetch(`${service.url}/_readiness`)).status).toBe(200);
  });
});

describe('the health of a service whose issuer is unavailable', () => {
  // No server listens on the discard port.
  const service = TestService.forSuite({ environment: { AUTH_URL: 'http://127.0.0.1:9' } });

  it('reports it, and is ready, because known keys stay valid', async () => {
    const response = await fetch(`${service.url}/_readiness`);
    const { details } = (await response.json()) as Report;
    expect([response.status, details['identityProvider']]).toEqual([
      200,
      { status: 'degraded', reachable: false },
    ]);
  });
});
