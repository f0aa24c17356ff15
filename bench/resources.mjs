// Stops everything that a run has started, when the run ends, fails or is interrupted.

/** Thrown on Ctrl-C, which prints no stack trace. */
export class Interruption extends Error {}

const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'];

export class Resources {
  #stops = [];
  #ended = false;

  /** Registers a function that runs at the end, in reverse order; immediately if the run has ended. */
  defer(stop) {
    if (this.#ended) return stop();
    this.#stops.push(stop);
  }

  async end() {
    this.#ended = true;
    for (const stop of this.#stops.splice(0).reverse()) {
      try {
        await stop();
      } catch (error) {
        console.error(`Not stopped: ${error.message}`);
      }
    }
  }
}

/** Runs a function with resources, and ends these after success, failure or a signal. */
export async function withResources(work) {
  const resources = new Resources();
  let interrupt;
  const interrupted = new Promise((_, reject) => {
    interrupt = (signal) => reject(new Interruption(signal));
  });
  for (const signal of SIGNALS) process.on(signal, interrupt);
  try {
    return await Promise.race([work(resources), interrupted]);
  } finally {
    await resources.end();
    for (const signal of SIGNALS) process.off(signal, interrupt);
  }
}
