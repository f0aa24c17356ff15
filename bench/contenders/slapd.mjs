// slapd with the same people and groups, and a client that asks it directly.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { startSlapd } from '../../test/support/servers/slapd.mjs';
import { buildLdif } from '../data/ldif.mjs';
import { Loader } from '../load/loader.mjs';
import { WAYS } from './slapd/members.mjs';

const CLIENT = new URL('slapd/client.mjs', import.meta.url);

export async function startSlapdContender(directory, connection, resources) {
  const server = await startSlapd({ directory: join(directory, 'slapd'), ldif: await buildLdif(connection) });
  resources.defer(() => server.remove());
  const client = new Loader(CLIENT, resources, { SLAPD_URL: server.url });
  const pid = Number(readFileSync(join(server.directory, 'slapd.pid'), 'utf8'));
  return new SlapdContender(client, pid);
}

class SlapdContender {
  name = 'slapd';
  ways = Object.keys(WAYS);

  constructor(client, pid) {
    this.client = client;
    this.pids = [pid];
  }

  async ask(way, id) {
    const { answer } = await this.client.run(way, { id });
    return answer;
  }
}
