import { request } from 'node:http';
import { buildLdif } from '../support/builders/directory.js';
import { dataOf, post } from '../support/clients/http.js';
import { TestService } from '../support/servers/service.js';

/** More than the number of concurrent executions. */
const LEAVING = 1200;
const AT_ONCE = 40;

const people = Array.from({ length: 60 }, (_, at) => ({ id: `p${at}` }));
const QUERY = '{ group(group: {id: "club"}) { members(first: 60) { nodes { user { id name photo } } } } }';

describe('clients that disconnect before the response', () => {
  const service = TestService.forSuite({
    ldif: buildLdif(people, [{ id: 'club', members: people.map(({ id }) => id) }]),
    environment: { LIMIT_REQUESTS_PER_MINUTE: '100000', RESPONSE_CACHE_MEGABYTES: '0' },
    compared: false,
  });
  let authorization: string;

  beforeAll(async () => {
    authorization = await service.serviceAccount('read');
  });

  /** Sends a request, and disconnects during its execution. */
  function leave(): Promise<void> {
    return new Promise((resolve) => {
      const headers = { authorization, 'content-type': 'application/json' };
      const sent = request(`${service.url}/graphql/v1`, { method: 'POST', headers, agent: false });
      sent.on('error', () => undefined).on('close', resolve);
      sent.end(JSON.stringify({ query: QUERY }), () => setImmediate(() => sent.destroy()));
    });
  }

  it('leave no work behind that blocks other clients', async () => {
    for (let left = 0; left < LEAVING; left += AT_ONCE) {
      await Promise.all(Array.from({ length: AT_ONCE }, leave));
    }
    const answer = await post(service, { query: QUERY }, { authorization });
    expect(answer.status).toBe(200);
    expect(dataOf(answer)).toHaveProperty('group.members.nodes.length', 60);
  });
});
