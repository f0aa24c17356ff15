import { Agent } from 'node:http';
import { ERROR_CODES } from '../../src/common/errors.js';
import { writeClients } from '../support/clients/clients.js';
import { buildLdif } from '../support/builders/directory.js';
import { type HttpAnswer, type HttpRequest, send } from '../support/clients/http.js';
import { naughtyRequests } from '../support/builders/naughty-requests.js';
import { NAUGHTY_STRINGS } from '../support/builders/naughty-strings.js';
import { schema } from '../support/clients/scope-walk.js';
import { WatchedService } from '../support/watched-service.js';
import { repetitions } from '../support/repetitions.js';
import { forSuite } from '../support/for-suite.js';

/** Every position is tested with every n-th of the naughty strings. */
const SHARE = repetitions({ usually: 24, long: 1 });

/** Strings that databases and encoders fail on, and that a list of well-formed strings does not contain. */
const ILL_FORMED = ['\0', 'a\0b', '\ud800', '\udc00a'];

/** Code units of a text. With the rest of the request, its bytes in UTF-8 are within the limit of a body. */
const LENGTH = 47_000;
/** Maximum number of repetitions: the fastest counts. */
const ROUNDS = 3;
/** Maximum ratio of a text to the control, and milliseconds below which controls cannot be distinguished. */
const FACTOR = 5;
const NOTHING = 20;

/** Combining marks, highest class first: Unicode normalization has to reorder all of them. */
const MARKS = ['\u0345', '\u0315', '\u0301', '\u0327', '\u0334'];
const share = Math.floor(LENGTH / MARKS.length);
const HOSTILE = MARKS.map((mark) => mark.repeat(share)).join('');
/** The same number of code units and bytes. */
const CONTROL = 'ж'.repeat(HOSTILE.length);

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

/** Processor time of a request on the event loop in milliseconds. */
async function timeOf(request: HttpRequest): Promise<number> {
  const before = service.mainThreadTime;
  await send(service, { ...request, headers: { authorization, ...request.headers } }).catch(() => undefined);
  return service.mainThreadTime - before;
}

it('takes no longer for marks in the wrong order than for other letters, in any position', async () => {
  const slow: string[] = [];
  for (const [place, build] of naughtyRequests(schema).entries()) {
    const times = { control: Infinity, hostile: Infinity };
    for (let round = 0; round < ROUNDS; round++) {
      times.control = Math.min(times.control, await timeOf(build(CONTROL)));
      times.hostile = Math.min(times.hostile, await timeOf(build(HOSTILE)));
      if (times.hostile <= FACTOR * Math.max(NOTHING, times.control)) break;
    }
    if (times.hostile > FACTOR * Math.max(NOTHING, times.control)) {
      slow.push(`place ${place}: ${times.hostile} ms, and ${times.control} ms for other letters`);
    }
  }
  expect(slow).toEqual([]);
});

/** Statuses that only picture responses have. */
const CODES: readonly string[] = [...ERROR_CODES, 'SIGNATURE_INVALID', 'URL_EXPIRED'];

interface Body {
  readonly code?: unknown;
  readonly errors?: readonly {
    readonly message?: unknown;
    readonly extensions?: { readonly code?: unknown };
  }[];
}

/**
 * Checks that a response is one that clients can handle, for any request.
 * @throws Error for internal errors, invalid JSON, and codes that are not on the list
 */
function expectSound({ status, body }: HttpAnswer): void {
  const fail = (what: string) => {
    throw new Error(`${what}: ${status} ${body.slice(0, 500)}`);
  };
  if (status >= 500) fail('A failure');
  let parsed: Body | null = null;
  try {
    parsed = JSON.parse(body) as Body;
  } catch {
    fail('No JSON');
  }
  const { errors, code } = parsed ?? {};
  if (status >= 400 && code === undefined && (errors ?? []).length === 0) fail('A refusal without an error');
  const codes = [
    ...(code === undefined ? [] : [code]),
    ...(errors ?? []).map(({ extensions }) => extensions?.code),
  ];
  for (const each of codes) {
    if (!CODES.includes(String(each)) || each === 'INTERNAL_SERVER_ERROR') fail(`The code ${String(each)}`);
  }
}
