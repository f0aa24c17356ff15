// The load, in a process of its own: so many connections, each of which sends the next request when the last is answered.
import { performance } from 'node:perf_hooks';
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
  run(name, { seconds, connections }) {
    return run(loads.get(name), seconds, connections);
  },
});

/** Sends requests for so long, and waits for the last answers. */
async function run(requests, seconds, connections) {
  latencies.clear();
  const begun = performance.now();
  const until = begun + seconds * 1000;
  const workers = Array.from({ length: connections }, (_, index) =>
    work(requests, requests.ports[index % requests.ports.length], until),
  );
  await Promise.all(workers);
  const [p50, p99] = latencies.quantiles([0.5, 0.99]);
  return { requests: latencies.count, seconds: (performance.now() - begun) / 1000, p50, p99 };
}

function work(requests, port, until) {
  return new Promise((resolve, reject) => {
    let sent = performance.now();
    const send = () => {
      sent = performance.now();
      connection.send(requests.next());
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
        if (now < until) return send();
        connection.close();
        resolve();
      },
      fail,
    );
    send();
  });
}
