import { Agent } from 'node:http';
import { writeClients } from '../support/clients/clients.js';
import { buildLdif } from '../support/builders/directory.js';
import { type HttpRequest, send } from '../support/clients/http.js';
import { naughtyRequests } from '../support/builders/naughty-requests.js';
import { NAUGHTY_STRINGS } from '../support/builders/naughty-strings.js';
import { schema } from '../support/clients/scope-walk.js';
import { expectSound } from '../support/builders/sound-response.js';
import { WatchedService } from '../support/watched-service.js';
import { repetitions } from '../support/repetitions.js';
import { forSuite } from '../support/for-suite.js';

/** Every position is tested with every n-th of the naughty strings. */
const SHARE = repetitions({ usually: 24, long: 1 });

/** Strings that databases and encoders fail on, and that a list of well-formed strings does not contain. */
const ILL_FORMED = ['\0', 'a\0b', '\ud800', '\udc00a'];

const SCOPES = 'profile read directory write';

const service = forSuite(() => {
  const users = ['anna', 'ben', 'cleo', 'dora'];
  const groups = [
    { id: 'club', members: ['anna', 'ben', '@team'], admins: ['anna'], owners: ['ben'] },
    { id: 'team', members: ['cleo', '@club'], owners: ['anna'] },
  ];
  return WatchedService.start({
    ldif: buildLdif(
      users.map((id) => ({ id, name: `${id} Ünï`, email: `${id}@example.org` })),
      groups,
    ),
    environment: {
      AUTH_EMBEDDED_CLIENTS: writeClients([{ id: 'client', owner: 'anna' }]),
      // The corpus contains texts that are longer than most limits.
      LIMIT_BODY_BYTES: '1000000',
    },
  });
});
let authorization: string;
const agent = new Agent({ keepAlive: true });

beforeAll(async () => {
  authorization = await service.accessToken(SCOPES, 'client');
});

afterAll(() => agent.destroy());

/** No failure without an error in the response. */
afterEach(() => {
  expect(service.hasEnded).toBe(false);
  expect(service.output).not.toMatch(/"level":"(error|fatal)"|failed:|UnhandledPromise/);
});

/** Runs one after the other. */
let turn: Promise<unknown> = Promise.resolve();

/** Previews of the same change wait for each other, and are rejected after a long wait: so they run sequentially. */
function sendRequest(request: HttpRequest): Promise<void> {
  if (request.body?.includes('mutation') !== true) return exchange(request);
  const exchanged = turn.then(() => exchange(request));
  turn = exchanged.catch(() => undefined);
  return exchanged;
}

async function exchange(request: HttpRequest): Promise<void> {
  const given = { ...request, headers: { authorization, ...request.headers }, agent };
  // The service may close a kept connection at the moment of a request: there is no response, and no fault.
  expectSound(await send(service, given).catch(() => send(service, given)));
}

it('a text in every position of the schema gets a sound response', async () => {
  const builds = naughtyRequests(schema);
  for (const [place, text] of [...ILL_FORMED, ...NAUGHTY_STRINGS].entries()) {
    const share = ILL_FORMED.includes(text) ? 1 : SHARE;
    const chosen = builds.filter((_, at) => (place + at) % share === 0);
    await Promise.all(chosen.map((build) => sendRequest(build(text))));
  }
});
