// Makes load from a process of its own, and tells what came of it: `node make-load.mjs OPTIONS`, JSON both ways (see load.ts).
import { once } from 'node:events';
import { Agent, request } from 'node:http';
import { constants, setPriority } from 'node:os';
import { performance } from 'node:perf_hooks';
import { clearInterval, setInterval } from 'node:timers';
import { setTimeout as sleep } from 'node:timers/promises';
import { processorWait } from './processor-wait.mjs';

/** Milliseconds between two looks at how many requests are due. */
const TICK = 2;
/** And at how long others had the processors. */
const LOOK = 5;
/** Connections at most: for those that wait for an answer, and some more. */
const CONNECTIONS = 300;

try {
  // As often as is said, whatever else the machine does.
  setPriority(constants.priority.PRIORITY_HIGHEST);
} catch {
  // Only root may.
}

const { url, body, headers, seconds, rate, clients, server } = JSON.parse(process.argv[2]);
const agent = new Agent({ keepAlive: true, maxSockets: CONNECTIONS, maxFreeSockets: CONNECTIONS });
const options = { method: 'POST', agent, headers: { 'content-type': 'application/json', ...headers } };
const answers = [];

/** Milliseconds for which a request can have waited for a processor, here or at the server, after each look. */
const waits = [0];
const begunAt = performance.now();
let last = { at: begunAt, waited: waitedSoFar() };

function waitedSoFar() {
  return processorWait() + (server === undefined ? 0 : processorWait(server));
}

/** One look; where looks were late, it stands for those that were left out. */
function noteWait() {
  const now = { at: performance.now(), waited: waitedSoFar() };
  const missing = Math.floor((now.at - begunAt) / LOOK) - (waits.length - 1);
  if (missing < 1) return;
  // Both may wait at once, and for no longer than there is time.
  const more = Math.min(now.at - last.at, now.waited - last.waited);
  const before = waits.at(-1);
  for (let at = 1; at <= missing; at++) waits.push(before + (more * at) / missing);
  last = now;
}

function waitedUntil(moment) {
  const place = Math.min((moment - begunAt) / LOOK, waits.length - 1);
  const low = Math.floor(place);
  return waits[low] + ((waits[low + 1] ?? waits[low]) - waits[low]) * (place - low);
}

/** One request; whatever becomes of it is an answer. */
function ask() {
  return new Promise((resolve) => {
    const begun = performance.now();
    const tell = (status, text, retryAfter = null) => {
      const code = status === 200 ? null : (/"code":"(\w+)"/.exec(text)?.[1] ?? text);
      answers.push({
        status,
        code,
        retryAfter,
        begun,
        milliseconds: performance.now() - begun,
      });
      resolve();
    };
    const sent = request(url, options, (response) => {
      let text = '';
      response.setEncoding('utf8').on('data', (part) => (text = part));
      response.on('end', () => tell(response.statusCode, text, response.headers['retry-after']));
      response.on('error', (error) => tell(0, error.message));
    });
    sent.on('error', (error) => tell(0, error.message));
    sent.end(body);
  });
}

/** Opens all connections, as a proxy has them: Node takes on one at a time, between everything else that it has to do. */
async function connect() {
  const opening = Array.from({ length: CONNECTIONS }, async () => {
    const [response] = await once(request(new URL('/_health', url), { agent }).end(), 'response');
    await once(response.resume(), 'end');
  });
  await Promise.all(opening);
}

/** So many a second, whether or not those before are answered: as the world does. */
async function askAtRate() {
  await connect();
  const begun = performance.now();
  const asked = [];
  for (let elapsed = 0; elapsed < seconds * 1000; elapsed = performance.now() - begun) {
    while (asked.length < (elapsed / 1000) * rate) asked.push(ask());
    await sleep(TICK);
  }
  await Promise.all(asked);
}

/** One after the other, by so many at a time: as many as can be answered. */
async function askInTurn() {
  const end = performance.now() + seconds * 1000;
  const client = async () => {
    while (performance.now() < end) await ask();
  };
  await Promise.all(Array.from({ length: clients }, client));
}

const looking = setInterval(noteWait, LOOK);
await (rate === undefined ? askInTurn() : askAtRate());
clearInterval(looking);
noteWait();
agent.destroy();
const told = answers.map(({ begun, milliseconds, ...answer }) => ({
  ...answer,
  at: performance.timeOrigin + begun,
  milliseconds,
  waited: waitedUntil(begun + milliseconds) - waitedUntil(begun),
}));
process.stdout.write(JSON.stringify(told));
