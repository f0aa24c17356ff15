// The parent's side of a load process.
import { fork } from 'node:child_process';

export class LoadProcess {
  #process;
  #waiting = new Map();
  #number = 0;

  /** @param {URL} program that serves loads: see protocol.mjs */
  constructor(program, resources, environment = {}) {
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
        reject(new Error(`The load process ended with ${code}`));
    });
  }

  get pid() {
    return this.#process.pid;
  }

  prepare(name, load) {
    return this.#send('prepare', name, load);
  }

  /**
   * @param content seconds, connections and rate
   * @returns requests, seconds, p50, p99 and longest in milliseconds, and the processor time of the load process
   */
  run(name, content) {
    return this.#send('run', name, content);
  }

  #send(kind, name, content) {
    const number = this.#number++;
    return new Promise((resolve, reject) => {
      this.#waiting.set(number, { resolve, reject });
      this.#process.send({ number, kind, name, content });
    });
  }
}
