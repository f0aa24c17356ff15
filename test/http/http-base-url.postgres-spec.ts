import { createServer, request, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { PICTURE, buildLdif } from '../support/builders/directory.js';
import { findFreePort } from '../support/servers/postgres.mjs';
import { TestService } from '../support/servers/service.js';
import { readData } from '../support/clients/graphql.js';

const PATH = '/school/directory';

/** A proxy in front of a service with a path, which keeps or removes that path. */
async function startProxy(port: number, rewrite: (url: string) => string): Promise<Server> {
  const server = createServer((incoming, outgoing) => {
    const { method, headers, url = '/' } = incoming;
    const onward = request({ host: '127.0.0.1', port, method, headers, path: rewrite(url) }, (answer) => {
      outgoing.writeHead(answer.statusCode ?? 502, answer.headers);
      answer.pipe(outgoing);
    });
    onward.on('error', () => outgoing.destroy());
    incoming.pipe(onward);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return server;
}

describe('a service whose BASE_URL has a path', () => {
  let service: TestService;
  let servicePort: number;
  let proxies: Server[];

  beforeAll(async () => {
    servicePort = await findFreePort();
    // BASE_URL refers to the first proxy; the other one is reached by its port.
    const keeping = await startProxy(servicePort, (url) => url);
    const stripping = await startProxy(servicePort, (url) => url.slice(PATH.length));
    proxies = [keeping, stripping];
    service = await TestService.start({
      ldif: buildLdif([{ id: 'anna', photo: PICTURE }]),
      environment: { PORT: String(servicePort), BASE_URL: `http://127.0.0.1:${portOf(keeping)}${PATH}` },
    });
  });

  afterAll(async () => {
    await service.stop();
    for (const proxy of proxies) {
      proxy.closeAllConnections();
      await new Promise((resolve) => proxy.close(resolve));
    }
  });

  const portOf = (server: Server) => (server.address() as AddressInfo).port;

  it.each([
    ['keeps the path', 0],
    ['removes the path', 1],
  ])('works behind a proxy that %s', async (_what, index) => {
    const proxy = proxies[index];
    if (proxy === undefined) throw new Error('There is no such proxy');
    const { origin } = new URL(`http://127.0.0.1:${portOf(proxy)}`);
    const tokens = await fetch(`${origin}${PATH}/oauth2/token`, {
      method: 'POST',
      headers: { authorization: `Basic ${Buffer.from('demo-basic:demo-basic-secret').toString('base64')}` },
      body: new URLSearchParams({ grant_type: 'client_credentials', scope: 'read' }),
    });
    const { access_token: token } = (await tokens.json()) as { access_token: string };
    const { user } = await readData<{ user: { photo: string } }>(
      `${origin}${PATH}`,
      '{ user(user: {id: "anna"}) { photo } }',
      { authorization: `Bearer ${token}` },
    );
    expect(user.photo).toContain(`${service.config.baseUrl}/photo/v1/anna?`);
    const photo = await fetch(user.photo.replace(new URL(service.config.baseUrl).origin, origin));
    expect([photo.status, photo.headers.get('content-type')]).toEqual([200, 'image/jpeg']);
    expect((await fetch(`${origin}${PATH}/_readiness`)).status).toBe(200);
    const discovery = await fetch(`${origin}${PATH}/.well-known/openid-configuration`);
    expect(await discovery.json()).toMatchObject({ issuer: service.config.baseUrl });
  });
});
