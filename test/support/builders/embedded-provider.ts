import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { readConfig } from '../../../src/config/config.js';
import { BUILT_IN_SCOPES } from '../../../src/config/scopes.js';
import { parseClients } from '../../../src/identity-provider/clients.js';
import { DeviceCodes } from '../../../src/identity-provider/pages/flow-pages.js';
import { createKeys } from '../../../src/identity-provider/keys.js';
import { ProviderLogins } from '../../../src/identity-provider/logins.js';
import { buildProvider, type ProviderOptions } from '../../../src/identity-provider/provider.js';
import { FailedLogins, WrongCodes } from '../../../src/limits/failed-logins.js';
import { Limits } from '../../../src/limits/limits.js';

/** Starts the embedded identity provider without the rest of the service. */
export async function startEmbeddedProvider(
  clients: readonly unknown[],
  options: Pick<ProviderOptions, 'findPerson'> & Partial<ProviderOptions>,
) {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const problems: string[] = [];
  const parsed = parseClients(JSON.stringify(clients), problems);
  expect(problems).toEqual([]);
  const config = readConfig({ LIMIT_FAILED_LOGINS: '1000' });
  const logins = new ProviderLogins(new FailedLogins(config, new Limits(null)));
  const codes = new DeviceCodes(new WrongCodes(config, new Limits(null)), logins);
  const keys = await createKeys();
  const audience = 'urn:test:audience';
  const provider = buildProvider({
    issuer,
    audience,
    clients: parsed,
    scopes: BUILT_IN_SCOPES,
    corsOrigins: [],
    keys,
    logins,
    codes,
    people: [],
    ...options,
  });
  server.on('request', provider.callback());
  const close = async () => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  };
  return { issuer, keys, close };
}

export type EmbeddedProvider = Awaited<ReturnType<typeof startEmbeddedProvider>>;
