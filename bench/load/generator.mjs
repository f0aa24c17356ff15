// The load, in a process of its own: so many connections, each of which sends the next request when the last is answered, or
// when it is its turn, where only so many a second are to be sent.
import { performance } from 'node:perf_hooks';
import { setTimeout } from 'node:timers';
import { HttpConnection } from '../../test/support/clients/http-connection.mjs';
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
  run(name, how) {
    return run(loads.get(name), how);
  },
});

/** Sends requests for so long, and waits for the last answers. @param rate a second; null: as many as are answered */
async function run(requests, { seconds, connections, rate }) {
  latencies.clear();
  const begun = performance.now();
  const until = begun + seconds * 1000;
  // Connections take turns.
  const turnsOf = (index, start) =>
    rate === null ? null : { next: start + (index * 1000) / rate, interval: (connections * 1000) / rate };
  const workers = Array.from({ length: connections }, (_, index) =>
    work(requests, requests.ports[index % requests.ports.length], until, turnsOf(index, begun)),
  );
  await Promise.all(workers);
  const [p50, p99] = latencies.quantiles([0.5, 0.99]);
  return { requests: latencies.count, seconds: (performance.now() - begun) / 1000, p50, p99 };
}

function work(requests, port, until, turns) {
  return new Promise((resolve, reject) => {
    let sent = performance.now();
    const send = () => {
      sent = performance.now();
      connection.send(requests.next());
    };
    const goOn = (now) => {
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
      (answer) => {
        const now = performance.now();
        latencies.add(now - sent);
        const isGood = answer.subarray(0, OK.length).equals(OK) && !answer.includes(ERRORS);
        if (!isGood) return fail(new Error(`Not an answer: ${answer.toString().slice(0, 1000)}`));
        if (now < until) return goOn(now);
        connection.close();
        resolve();
      },
      fail,
    );
    send();
  });
}
