import { writeClients } from '../support/clients/clients.js';
import { buildLdif } from '../support/builders/directory.js';
import { type HttpRequest, send } from '../support/clients/http.js';
import { naughtyRequests } from '../support/builders/naughty-requests.js';
import { processorTime } from '../support/processor-time.mjs';
import { schema } from '../support/clients/scope-walk.js';
import { WatchedService } from '../support/watched-service.js';

/** Code units of a text: its bytes in UTF-8, with those around it, are what a body may have. */
const LENGTH = 47_000;
/** How often each is sent at most: the quickest counts. */
const ROUNDS = 3;
/** How many times as long as the control a text may take, and milliseconds below which a control is not told apart from others. */
const FACTOR = 5;
const NOTHING = 20;

/** Combining marks, those of the highest class first: Unicode has to move each one past all that stand before it. */
const MARKS = ['\u0345', '\u0315', '\u0301', '\u0327', '\u0334'];
const share = Math.floor(LENGTH / MARKS.length);
const HOSTILE = MARKS.map((mark) => mark.repeat(share)).join('');
/** As many code units, and as many bytes. */
const CONTROL = 'ж'.repeat(HOSTILE.length);

let service: WatchedService;
let authorization: string;

beforeAll(async () => {
  service = await WatchedService.start({
    ldif: buildLdif([{ id: 'anna' }], [{ id: 'club', members: ['anna'], owners: ['anna'] }]),
    environment: { AUTH_EMBEDDED_CLIENTS: writeClients([{ id: 'client', owner: 'anna' }]) },
  });
  authorization = await service.accessToken('profile read directory write', 'client');
});

afterAll(() => service.stop());

/** Milliseconds of processor time that the event loop of the service takes for a request. */
async function timeOf(request: HttpRequest): Promise<number> {
  const before = processorTime(service.id);
  await send(service, { ...request, headers: { authorization, ...request.headers } }).catch(() => undefined);
  return processorTime(service.id) - before;
}

it('takes no longer for marks that have to be put in order than for other letters, wherever they stand', async () => {
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
