// slapd with the same users and groups, and an LDAP client.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { startSlapd } from '../../test/support/servers/slapd.mjs';
import { buildLdif } from '../data/ldif.mjs';
import { LoadProcess } from '../load/load-process.mjs';
import { STRATEGIES } from './slapd/members.mjs';

const CLIENT = new URL('slapd/client.mjs', import.meta.url);

export async function startSlapdContender(directory, connection, resources) {
  const server = await startSlapd({ directory: join(directory, 'slapd'), ldif: await buildLdif(connection) });
  resources.defer(() => server.remove());
  const client = new LoadProcess(CLIENT, resources, { SLAPD_URL: server.url });
  const pid = Number(readFileSync(join(server.directory, 'slapd.pid'), 'utf8'));
  return new SlapdContender(client, pid);
}

class SlapdContender {
  name = 'slapd';
  strategies = Object.keys(STRATEGIES);

  constructor(client, pid) {
    this.client = client;
    this.pids = [pid];
  }

  async execute(strategy, id) {
    const { content } = await this.client.run(strategy, { id });
    return content;
  }
}
