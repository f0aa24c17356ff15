import { mkdtempSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Scope, SCOPES } from '../../../src/auth/principal.js';
import { variable } from '../servers/store.js';

/** A client of the embedded provider, with the secret `{id}-secret`. */
export interface TestClient {
  readonly id: string;
  readonly owner: string | null;
  /** Its scopes; default: all. */
  readonly scopes?: readonly Scope[];
}

/** Writes clients into a file for `AUTH_EMBEDDED_CLIENTS`. */
export function writeClients(clients: readonly TestClient[]): string {
  const file = join(mkdtempSync(join(variable('TEST_WORK_DIRECTORY'), 'clients-')), 'clients.json');
  const registered = clients.map(({ id, owner, scopes = SCOPES }) => ({
    client_id: id,
    client_secret: `${id}-secret`,
    grant_types: ['client_credentials'],
    scope: scopes.join(' '),
    owner,
  }));
  writeFileSync(file, JSON.stringify(registered));
  return file;
}
