// The process that sends requests. Each of its connections sends the next one after the response to the last one, or at a fixed rate.
import { performance } from 'node:perf_hooks';
import { setTimeout } from 'node:timers';
import { HttpConnection } from './http-connection.mjs';

/** Response times that are kept, so that quantiles are exact. */
const MAX_SAMPLES = 1 << 21;
const OK = Buffer.from('HTTP/1.1 200');
const ERRORS = Buffer.from('"errors":');

/** Response times in milliseconds. */
export class Latencies {
  #milliseconds = new Float32Array(MAX_SAMPLES);
  count = 0;

  add(milliseconds) {
    this.#milliseconds[this.count % MAX_SAMPLES] = milliseconds;
    this.count++;
  }

  /** What a run returns of them. */
  summarize(begun) {
    const sorted = this.#milliseconds.slice(0, Math.min(this.count, MAX_SAMPLES)).sort();
    const at = (share) => sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? NaN;
    const seconds = (performance.now() - begun) / 1000;
    return { requests: this.count, seconds, p50: at(0.5), p99: at(0.99), longest: at(1) };
  }

  clear() {
    this.count = 0;
  }
}

/**
 * The requests of one load. A later run continues where the last one ended.
 * @typedef {{ port: number, query?: string, variables?: string[], paths?: string[], tokens?: string[] }} Load
 *   variables as JSON, or paths of GET requests; requests cycle through them and through the tokens
 */
class Requests {
  #next = 0;
  #prefix;

  /** @param {Load} load */
  constructor({ port, query, variables = [], paths = null, tokens = [] }) {
    this.port = port;
    this.variables = variables;
    this.paths = paths;
    this.tokens = tokens.map((token) => `Authorization: Bearer ${token}\r\n`);
    this.#prefix = `{"query":${JSON.stringify(query)},"variables":`;
  }

  next() {
    const number = this.#next++;
    const head = `HTTP/1.1\r\nHost: 127.0.0.1\r\n${this.tokens[number % this.tokens.length] ?? ''}`;
    if (this.paths !== null) return `GET ${this.paths[number % this.paths.length]} ${head}\r\n`;
    const body = `${this.#prefix}${this.variables[number % this.variables.length]}}`;
    const length = `Content-Length: ${Buffer.byteLength(body)}`;
    return `POST /graphql/v1 ${head}Content-Type: application/json\r\nAccept: application/json\r\n${length}\r\n\r\n${body}`;
  }
}

/** Handles the messages of the parent: `prepare` keeps a load under its name, and `run` runs it. */
export function serveLoads({ prepare, run }) {
  process.on('message', async ({ number, kind, name, content }) => {
    const before = process.cpuUsage();
    try {
      const result = kind === 'prepare' ? await prepare(name, content) : await run(name, content);
      const { user, system } = process.cpuUsage(before);
      process.send({ number, result: { ...result, ownMilliseconds: (user + system) / 1000 } });
    } catch (error) {
      process.send({ number, error: error.message });
    }
  });
  process.on('disconnect', () => process.exit());
  // A terminal sends Ctrl-C to all its processes. The parent ends this one.
  process.on('SIGINT', () => undefined);
}

const loads = new Map();
const latencies = new Latencies();

/** Sends requests for some seconds, and waits for the last responses. @param rate requests per second; null: unlimited */
async function send(requests, { seconds, connections, rate }) {
  latencies.clear();
  const begun = performance.now();
  const until = begun + seconds * 1000;
  const workers = Array.from({ length: connections }, (_, index) => {
    // Connections send in turn.
    const turns = { next: begun + (index * 1000) / rate, interval: (connections * 1000) / rate };
    return work(requests, until, rate === null ? null : turns);
  });
  await Promise.all(workers);
  return latencies.summarize(begun);
}

function work(requests, until, turns) {
  return new Promise((resolve, reject) => {
    let sent = performance.now();
    const sendNext = () => {
      sent = performance.now();
      connection.send(requests.next());
    };
    const continueSending = (now) => {
      if (turns === null) return sendNext();
      turns.next += turns.interval;
      if (turns.next > now) setTimeout(sendNext, turns.next - now);
      else sendNext();
    };
    const fail = (error) => {
      connection.close();
      reject(error);
    };
    const receive = (response) => {
      const now = performance.now();
      latencies.add(now - sent);
      const isGood = response.subarray(0, OK.length).equals(OK) && !response.includes(ERRORS);
      if (!isGood) return fail(new Error(`Unexpected response: ${response.toString().slice(0, 1000)}`));
      if (now < until) return continueSending(now);
      connection.close();
      resolve();
    };
    const connection = new HttpConnection(requests.port, receive, fail);
    if (turns === null) sendNext();
    else setTimeout(sendNext, turns.next - sent);
  });
}

if (process.argv[1] === import.meta.filename)
  serveLoads({
    prepare: (name, load) => void loads.set(name, new Requests(load)),
    run: (name, options) => send(loads.get(name), options),
  });
