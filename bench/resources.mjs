// What a run has started, and that it is stopped again, however the run ends.

/** Whoever pressed Ctrl-C wants to see no stack trace. */
export class Interruption extends Error {}

const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'];

export class Resources {
  #stops = [];
  #ended = false;

  /** Has this done at the end; the last first. Too late for that, it is done at once. */
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

/** Does some work with resources, and ends these when it is done, fails, or somebody interrupts it. */
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
