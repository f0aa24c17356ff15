import { once } from 'node:events';
import { createServer, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Logger } from '@nestjs/common';
import { HealthIndicatorService } from '@nestjs/terminus';
import { readConfig } from '../../src/config/config.js';
import { IdentityProviderIndicator } from '../../src/health/indicators.js';

describe('the check of the issuer', () => {
  let issuer: Server;
  let requests: number;
  let answer: ((response: ServerResponse) => void) | null;

  beforeEach(async () => {
    requests = 0;
    // The issuer does not respond at first.
    answer = null;
    issuer = createServer((_request, response) => {
      requests++;
      answer?.(response);
    }).listen(0, '127.0.0.1');
    await once(issuer, 'listening');
  });

  afterEach(() => {
    jest.restoreAllMocks();
    issuer.closeAllConnections();
    issuer.close();
  });

  it('sends one request for all concurrent and immediately following checks', async () => {
    const indicator = open();
    const answers = await Promise.all(Array.from({ length: 20 }, () => indicator.check()));
    answers.push(await indicator.check());
    for (const each of answers)
      expect(each).toEqual({ identityProvider: { status: 'degraded', reachable: false } });
    expect(requests).toBe(1);
  });

  it('logs once that it does not answer, and how long', async () => {
    const [warned, logged] = (['warn', 'log'] as const).map((level) => jest.spyOn(Logger.prototype, level));
    const indicator = open();
    await indicator.check();
    // The result is used for ten seconds.
    const begun = performance.now();
    jest.spyOn(performance, 'now').mockImplementation(() => begun + 12_000);
    await indicator.check();
    expect(warned?.mock.calls.map(([text]) => text as unknown)).toEqual([
      'The identity provider cannot be reached: only tokens that known keys verify are accepted',
    ]);
    answer = (response) => {
      response
        .setHeader('content-type', 'application/json')
        .end(JSON.stringify({ issuer: url(), jwks_uri: `${url()}/keys` }));
    };
    jest.spyOn(performance, 'now').mockImplementation(() => begun + 30_000);
    expect(await indicator.check()).toEqual({ identityProvider: { status: 'up', reachable: true } });
    expect(logged).toHaveBeenCalledWith(
      expect.stringMatching(/^The identity provider is reachable again after \d+ s$/),
    );
  });

  function url(): string {
    return `http://127.0.0.1:${(issuer.address() as AddressInfo).port}`;
  }

  function open(): IdentityProviderIndicator {
    return new IdentityProviderIndicator(readConfig({ AUTH_URL: url() }), new HealthIndicatorService());
  }
});
