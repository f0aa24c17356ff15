// The load process. Each of its connections sends the next request after the response to the last one, or at a fixed rate.
import { performance } from 'node:perf_hooks';
import { setTimeout } from 'node:timers';
import { HttpConnection } from './http-connection.mjs';
import { Latencies } from './latencies.mjs';
import { Requests } from './requests.mjs';
import { serveLoads } from './protocol.mjs';

const OK = Buffer.from('HTTP/1.1 200');
const ERRORS = Buffer.from('"errors":');

const loads = new Map();
const latencies = new Latencies();

serveLoads({
  prepare(name, load) {
    loads.set(name, new Requests(load));
  },
  run(name, options) {
    return run(loads.get(name), options);
  },
});

/** Sends requests for some seconds, and waits for the last responses. @param rate requests per second; null: unlimited */
async function run(requests, { seconds, connections, rate }) {
  latencies.clear();
  const startedAt = performance.now();
  const until = startedAt + seconds * 1000;
  // Connections send in turn.
  const turnsOf = (index, start) =>
    rate === null ? null : { next: start + (index * 1000) / rate, interval: (connections * 1000) / rate };
  const workers = Array.from({ length: connections }, (_, index) =>
    work(requests, requests.ports[index % requests.ports.length], until, turnsOf(index, startedAt)),
  );
  await Promise.all(workers);
  const [p50, p99, longest] = latencies.quantiles([0.5, 0.99, 1]);
  return { requests: latencies.count, seconds: (performance.now() - startedAt) / 1000, p50, p99, longest };
}

function work(requests, port, until, turns) {
  return new Promise((resolve, reject) => {
    let sent = performance.now();
    const send = () => {
      sent = performance.now();
      connection.send(requests.next());
    };
    const continueSending = (now) => {
      if (turns === null) return send();
      turns.next += turns.interval;
      if (turns.next > now) setTimeout(send, turns.next - now);
      else send();
    };
    const fail = (error) => {
      connection.close();
      reject(error);
    };
    const connection = new HttpConnection(
      port,
      (response) => {
        const now = performance.now();
        latencies.add(now - sent);
        const isGood = response.subarray(0, OK.length).equals(OK) && !response.includes(ERRORS);
        if (!isGood) return fail(new Error(`Unexpected response: ${response.toString().slice(0, 1000)}`));
        if (now < until) return continueSending(now);
        connection.close();
        resolve();
      },
      fail,
    );
    send();
  });
}
