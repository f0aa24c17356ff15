// Generates load in a separate process and prints the outcome: `node make-load.mjs OPTIONS`, JSON in both directions (see
// load.ts).
import { constants, setPriority } from 'node:os';
import { performance } from 'node:perf_hooks';
import { clearInterval, setInterval } from 'node:timers';
import { setTimeout as sleep } from 'node:timers/promises';
import { HttpConnection } from './http-connection.mjs';
import { processorWait } from '../processor-time.mjs';

/** Milliseconds between two checks for due requests. */
const TICK = 2;
/** Milliseconds between two readings of the time that other processes had the processors. */
const INTERVAL_MS = 5;
/** Maximum number of connections. */
const CONNECTIONS = 300;

try {
  // Runs often, even if the machine is busy.
  setPriority(constants.priority.PRIORITY_HIGHEST);
} catch {
  // Requires root.
}

const { url, body, headers, seconds, rate, clients, server } = JSON.parse(process.argv[2]);
const { host, port, pathname } = new URL(url);
const fields = {
  host,
  'content-type': 'application/json',
  'content-length': Buffer.byteLength(body),
  ...headers,
};
const head = Object.entries(fields).map(([name, value]) => `${name}: ${value}\r\n`);
const REQUEST = `POST ${pathname} HTTP/1.1\r\n${head.join('')}\r\n${body}`;
const HEALTH = `GET /_health HTTP/1.1\r\nhost: ${host}\r\n\r\n`;

/** Connections that wait for a request, and requests that wait for a connection. */
const idle = [];
const queue = [];
let opened = 0;
const answers = [];

/** Milliseconds for which a request can have waited for a processor, here or at the server, at each reading. */
const waits = [0];
const begunAt = performance.now();
let last = { at: begunAt, waited: waitedSoFar() };

function waitedSoFar() {
  return processorWait() + (server === undefined ? 0 : processorWait(server));
}

/** One reading. A late reading stands for the readings that were missed. */
function noteWait() {
  const now = { at: performance.now(), waited: waitedSoFar() };
  const missing = Math.floor((now.at - begunAt) / INTERVAL_MS) - (waits.length - 1);
  if (missing < 1) return;
  // Both can wait at the same time, but not longer than the interval.
  const more = Math.min(now.at - last.at, now.waited - last.waited);
  const before = waits.at(-1);
  for (let at = 1; at <= missing; at++) waits.push(before + (more * at) / missing);
  last = now;
}

function waitedUntil(moment) {
  const place = Math.min((moment - begunAt) / INTERVAL_MS, waits.length - 1);
  const low = Math.floor(place);
  return waits[low] + ((waits[low + 1] ?? waits[low]) - waits[low]) * (place - low);
}

/** Sends one request; any outcome is recorded. */
async function sendRequest() {
  const begun = performance.now();
  const answer = await send(REQUEST);
  answers.push({ ...answer, begun, milliseconds: performance.now() - begun });
}

/**
 * Sends a text over the next free connection: an HTTP client of Node.js takes as long as the server needs to reject the request.
 */
function send(text) {
  return new Promise((resolve) => {
    queue.push({ text, resolve });
    sendNext();
  });
}

function sendNext() {
  while (queue.length > 0) {
    const line = idle.pop() ?? (opened < CONNECTIONS ? open() : null);
    if (line === null) return;
    if (!line.connection.isOpen) {
      opened--;
      continue;
    }
    const { text, resolve } = queue.shift();
    line.resolve = resolve;
    line.connection.send(text);
  }
}

function open() {
  opened++;
  const line = { connection: null, resolve: null };
  const record = (answer) => {
    const { resolve } = line;
    line.resolve = null;
    idle.push(line);
    resolve?.(answer);
    sendNext();
  };
  const fail = ({ message }) => {
    line.connection.close();
    record({ status: 0, code: message, retryAfter: null });
  };
  line.connection = new HttpConnection(port, (bytes) => record(read(bytes)), fail);
  return line;
}

/** Only errors are parsed, to leave the processor to the server. */
function read(bytes) {
  const status = Number(bytes.latin1Slice(9, 12));
  if (status === 200) return { status, code: null, retryAfter: null };
  const text = bytes.toString();
  return {
    status,
    code: /"code":"(\w+)"/.exec(text)?.[1] ?? text,
    retryAfter: /^retry-after: (.*)$/im.exec(text)?.[1].trim() ?? null,
  };
}

/** Opens all connections first, like a proxy: Node.js accepts one at a time between other work. */
async function connect() {
  await Promise.all(Array.from({ length: CONNECTIONS }, () => send(HEALTH)));
}

/** A fixed rate, independent of responses, like real traffic. */
async function sendAtRate() {
  await connect();
  const begun = performance.now();
  const asked = [];
  for (let elapsed = 0; elapsed < seconds * 1000; elapsed = performance.now() - begun) {
    while (asked.length < (elapsed / 1000) * rate) asked.push(sendRequest());
    await sleep(TICK);
  }
  await Promise.all(asked);
}

/** Closed loop: each client sends its next request after a response. */
async function sendInTurn() {
  const end = performance.now() + seconds * 1000;
  const client = async () => {
    while (performance.now() < end) await sendRequest();
  };
  await Promise.all(Array.from({ length: clients }, client));
}

const looking = setInterval(noteWait, INTERVAL_MS);
await (rate === undefined ? sendInTurn() : sendAtRate());
clearInterval(looking);
noteWait();
for (const { connection } of idle) connection.close();
const outcomes = answers.map(({ begun, milliseconds, ...answer }) => ({
  ...answer,
  at: performance.timeOrigin + begun,
  milliseconds,
  waited: waitedUntil(begun + milliseconds) - waitedUntil(begun),
}));
process.stdout.write(JSON.stringify(outcomes));
