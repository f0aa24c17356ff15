import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { BUILT_IN_SCOPES } from '../../../src/config/scopes.js';
import { parseClients } from '../../../src/identity-provider/clients.js';
import { createKeys } from '../../../src/identity-provider/keys.js';
import { buildProvider, type ProviderOptions } from '../../../src/identity-provider/provider.js';

/** Starts the embedded identity provider without the rest of the service. */
export async function startEmbeddedProvider(
  clients: readonly unknown[],
  options: Pick<ProviderOptions, 'findPerson'> & Partial<ProviderOptions>,
) {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const keys = await createKeys();
  const provider = buildProvider({
    issuer,
    audience: 'urn:test:audience',
    clients: parseClients(clients, 'clients', BUILT_IN_SCOPES),
    scopes: BUILT_IN_SCOPES,
    corsOrigins: [],
    keys,
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
