import { Agent } from 'node:http';
import { writeClients } from '../support/clients/clients.js';
import { buildLdif } from '../support/builders/directory.js';
import { dataOf, post } from '../support/clients/http.js';
import { WatchedService } from '../support/watched-service.js';

/**
 * Files that a reader has to follow for one request. The goals are 30, 10 and 6: lower these figures with each file that is
 * merged.
 */
const MAX_KNOWN_DOCUMENT = 41;
const MAX_CACHED = 23;
const MAX_RESOLVER_TO_DRIVER = 17;

/** Files that run by timers such as heartbeats, and not for the request. The mirror derives the fields each time it maps entries. */
const BACKGROUND =
  /^(mirror|sources|ldap|access-log\/access-(counts|log\.queries)|common\/field|database\/fields\/filters|(users\/user|groups\/group)\.fields|monitoring\/metrics|limits\/limits\.module|database\/(leadership|embedded|revisions|connections\/(heartbeat|pooler|settles)))/;

const QUERY = `query Members($id: String!) {
  group(group: {id: $id}) { name members(first: 5) { totalCount nodes { role { value } user { name } } } }
}`;

describe('the files that one request executes', () => {
  let service: WatchedService;
  let headers: { authorization: string };
  const agent = new Agent({ keepAlive: true });

  beforeAll(async () => {
    const ids = ['anna', 'ben', 'cleo', 'dora', 'emil', 'finn'];
    service = await WatchedService.start({
      ldif: buildLdif(
        ids.map((id) => ({ id, name: id })),
        ids.map((id) => ({ id: `club-${id}`, members: ids })),
      ),
      environment: { AUTH_EMBEDDED_CLIENTS: writeClients([{ id: 'client', owner: 'anna' }]) },
      build: 'dist',
    });
    headers = { authorization: await service.accessToken('read', 'client') };
    // Document, token and compiled operation are known after three requests.
    for (const id of ['anna', 'ben', 'cleo', 'dora', 'dora', 'dora']) await send(id);
  });

  afterAll(async () => {
    agent.destroy();
    await service.stop();
  });

  async function send(id: string): Promise<void> {
    dataOf(await post(service, { query: QUERY, variables: { id: `club-${id}` } }, headers, agent));
  }

  /** Of several requests, because timers run in the meantime. */
  async function filesOf(...ids: string[]): Promise<string[]> {
    const runs: string[][] = [];
    for (const id of ids) runs.push(await service.filesExecutedDuring(() => send(id)));
    const [first = [], ...others] = runs;
    return first.filter((file) => others.every((run) => run.includes(file)) && !BACKGROUND.test(file));
  }

  it('are few for a known document', async () => {
    const files = await filesOf('emil', 'finn');
    expect(files).toContain('graphql/http/endpoint');
    expect(files).toContain('database/connections/statement-pool');
    if (files.length > MAX_KNOWN_DOCUMENT) throw new Error(`${files.length}:\n${files.join('\n')}`);
  });

  it('are few between the resolver and the driver', async () => {
    const files = await filesOf('anna', 'ben');
    const below = files.filter((file) => /^(database|memberships|users|groups)\//.test(file));
    if (below.length > MAX_RESOLVER_TO_DRIVER) throw new Error(`${below.length}:\n${below.join('\n')}`);
  });

  it('are few for a cached response', async () => {
    const files = await filesOf('dora', 'dora');
    expect(files).toContain('graphql/cache/response-cache');
    expect(files).not.toContain('graphql/execution/operations');
    if (files.length > MAX_CACHED) throw new Error(`${files.length}:\n${files.join('\n')}`);
  });
});
