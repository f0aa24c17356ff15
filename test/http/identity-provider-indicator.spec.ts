import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { HealthIndicatorService } from '@nestjs/terminus';
import { readConfig } from '../../src/config/config.js';
import { IdentityProviderIndicator } from '../../src/health/indicators.js';

describe('the check of the issuer', () => {
  let issuer: Server;
  let requests: number;

  beforeEach(async () => {
    requests = 0;
    // The issuer never responds.
    issuer = createServer(() => requests++).listen(0, '127.0.0.1');
    await once(issuer, 'listening');
  });

  afterEach(() => {
    issuer.closeAllConnections();
    issuer.close();
  });

  it('sends one request for all concurrent and immediately following checks', async () => {
    const { port } = issuer.address() as AddressInfo;
    const config = readConfig({ AUTH_URL: `http://127.0.0.1:${port}` });
    const indicator = new IdentityProviderIndicator(config, new HealthIndicatorService());
    const answers = await Promise.all(Array.from({ length: 20 }, () => indicator.check()));
    answers.push(await indicator.check());
    for (const answer of answers)
      expect(answer).toEqual({ identityProvider: { status: 'degraded', reachable: false } });
    expect(requests).toBe(1);
  });
});
