import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createServer, type Server } from 'node:https';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { exportJWK, generateKeyPair, SignJWT } from 'jose';
import type { Environment } from '../../src/config/config.js';
import { runCommand } from '../support/clients/command.js';
import { TestService } from '../support/servers/service.js';
import { makeCertificates } from '../support/servers/slapd.mjs';

const AUDIENCE = 'urn:test:directory';

describe('an issuer with a certificate of an authority of its own', () => {
  const directory = mkdtempSync(join(tmpdir(), 'issuer-'));
  const at = (name: string) => join(directory, name);
  const requests: string[] = [];
  let server: Server;
  let url: string;
  let jwt: string;

  beforeAll(async () => {
    await makeCertificates(directory);
    const { publicKey, privateKey } = await generateKeyPair('ES256');
    const key = { ...(await exportJWK(publicKey)), kid: 'one', alg: 'ES256', use: 'sig' };
    const answers: Record<string, () => object> = {
      '/.well-known/openid-configuration': () => ({
        issuer: url,
        jwks_uri: `${url}/keys`,
        introspection_endpoint: `${url}/introspect`,
      }),
      '/keys': () => ({ keys: [key] }),
      '/introspect': () => ({ active: true, sub: 'ada.martin', scope: 'profile', aud: AUDIENCE }),
    };
    const certificate = { key: readFileSync(at('server.key')), cert: readFileSync(at('server.pem')) };
    server = createServer(certificate, ({ url: path = '', method = '' }, response) => {
      requests.push(`${method} ${path}`);
      response.end(JSON.stringify(answers[path]?.()));
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    url = `https://127.0.0.1:${(server.address() as AddressInfo).port}`;
    jwt = await new SignJWT({ scope: 'profile', client_id: 'page' })
      .setProtectedHeader({ alg: 'ES256', kid: 'one', typ: 'at+jwt' })
      .setIssuer(url)
      .setAudience(AUDIENCE)
      .setSubject('ada.martin')
      .setExpirationTime('1h')
      .sign(privateKey);
  });

  afterAll(() => {
    server.closeAllConnections();
    server.close();
    rmSync(directory, { recursive: true });
  });

  const settings = (): Environment => ({
    AUTH_URL: url,
    AUTH_AUDIENCE: AUDIENCE,
    AUTH_INTROSPECTION_CLIENT_ID: 'service',
    AUTH_INTROSPECTION_CLIENT_SECRET: 'secret',
  });

  it('is asked for metadata, keys and introspection with AUTH_CA_FILE, and not without', async () => {
    const statusesWith = async (environment: Environment) => {
      const service = await TestService.start({ environment: { ...settings(), ...environment } });
      try {
        const query = '{ profile { id } }';
        const answers = [jwt, 'opaque'].map((token) =>
          service.query(query, { authorization: `Bearer ${token}` }),
        );
        const readiness = await fetch(`${service.config.baseUrl}/_readiness`);
        const { details } = (await readiness.json()) as { details: Record<string, object> };
        return {
          statuses: (await Promise.all(answers)).map(({ status }) => status),
          readiness: details['identityProvider'],
        };
      } finally {
        await service.stop();
      }
    };
    expect(await statusesWith({ AUTH_CA_FILE: at('ca.pem') })).toMatchObject({
      statuses: [200, 200],
      readiness: { reachable: true },
    });
    expect(requests).toEqual(
      expect.arrayContaining(['GET /.well-known/openid-configuration', 'GET /keys', 'POST /introspect']),
    );
    expect(await statusesWith({})).toMatchObject({ statuses: [503, 503], readiness: { reachable: false } });
  });

  it('is trusted by `check`, which names the setting if it is not', async () => {
    const findingOf = async (environment: Environment) => {
      const { stdout } = await runCommand(['check', '--json'], {
        DATABASE_URL: 'postgres://nobody@127.0.0.1:1/nothing',
        ...settings(),
        ...environment,
      });
      const { findings } = JSON.parse(stdout) as {
        findings: { what: string; result: string; fix: string }[];
      };
      return findings.find(({ what }) => what === 'identity provider');
    };
    expect(await findingOf({ AUTH_CA_FILE: at('ca.pem') })).toMatchObject({ result: 'ok' });
    expect(await findingOf({})).toMatchObject({
      result: 'problem',
      fix: expect.stringMatching(/^Set AUTH_CA_FILE to the certificate \(PEM\) of the authority/) as string,
    });
  });
});
