import { writeClients } from '../support/clients/clients.js';
import { buildLdif } from '../support/builders/directory.js';
import { type HttpRequest, send } from '../support/clients/http.js';
import { naughtyRequests } from '../support/builders/naughty-requests.js';
import { processorTime } from '../support/processor-time.mjs';
import { schema } from '../support/clients/scope-walk.js';
import { WatchedService } from '../support/watched-service.js';
import { forSuite } from '../support/for-suite.js';

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

const service = forSuite(() =>
  WatchedService.start({
    ldif: buildLdif([{ id: 'anna' }], [{ id: 'club', members: ['anna'], owners: ['anna'] }]),
    environment: { AUTH_EMBEDDED_CLIENTS: writeClients([{ id: 'client', owner: 'anna' }]) },
  }),
);
let authorization: string;

beforeAll(async () => {
  authorization = await service.accessToken('profile read directory write', 'client');
});

/** Processor time of a request on the event loop in milliseconds. */
async function timeOf(request: HttpRequest): Promise<number> {
  const before = processorTime(service.id);
  await send(service, { ...request, headers: { authorization, ...request.headers } }).catch(() => undefined);
  return processorTime(service.id) - before;
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
