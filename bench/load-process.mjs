// The side of the measurements of a process that sends requests: load-generator.mjs, or the LDAP client.
import { fork } from 'node:child_process';

const CONNECTIONS = 16;

/** Requests per second at which a stall is seen, far below what the machine can answer. */
const PROBE_RATE = 200;
const PROBE_CONNECTIONS = 4;
const PROBE_SECONDS = 0.5;

export class LoadProcess {
  #process;
  #waiting = new Map();
  #number = 0;

  constructor(
    resources,
    { program = new URL('load-generator.mjs', import.meta.url), environment = {} } = {},
  ) {
    this.#process = fork(program, {
      serialization: 'advanced',
      env: { PATH: process.env.PATH, ...environment },
    });
    resources.defer(() => this.#process.kill('SIGKILL'));
    this.#process.on('message', ({ number, result, error }) => {
      const { resolve, reject } = this.#waiting.get(number);
      this.#waiting.delete(number);
      if (error === undefined) resolve(result);
      else reject(new Error(error));
    });
    this.#process.once('exit', (code) => {
      for (const { reject } of this.#waiting.values())
        reject(new Error(`The load process has ended: ${code}`));
    });
  }

  prepare(name, load) {
    return this.#send('prepare', name, load);
  }

  /**
   * @param options seconds; connections; rate: requests per second, null for as many as possible
   * @returns requests, seconds, p50, p99 and longest in milliseconds, and its own processor time
   */
  run(name, options) {
    return this.#send('run', name, { connections: CONNECTIONS, rate: null, ...options });
  }

  /**
   * Sends few requests while some work runs, and before: the first ones after another load take longer.
   * @returns the result of the work, and the milliseconds of the longest request meanwhile
   */
  async probe(name, work) {
    const options = { seconds: PROBE_SECONDS, connections: PROBE_CONNECTIONS, rate: PROBE_RATE };
    await this.run(name, options);
    let isOver = false;
    let longest = 0;
    const probing = (async () => {
      while (!isOver) longest = Math.max(longest, (await this.run(name, options)).longest);
    })();
    const working = work().finally(() => {
      isOver = true;
    });
    const [result] = await Promise.all([working, probing]);
    return { result, longest };
  }

  #send(kind, name, content) {
    const number = this.#number++;
    return new Promise((resolve, reject) => {
      this.#waiting.set(number, { resolve, reject });
      this.#process.send({ number, kind, name, content });
    });
  }
}
