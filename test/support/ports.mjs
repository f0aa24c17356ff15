// Ports of the loopback interface that no other process of any test run is given.
import { createServer } from 'node:net';
import { randomInt } from 'node:crypto';

/** Below those that the system gives to clients and to servers that name none: /proc/sys/net/ipv4/ip_local_port_range. */
const FIRST = 20_000;
const BLOCKS = 120;
/** Ports of a block. The first one stays open: it keeps other processes off the block, and the kernel closes it in the end. */
const SIZE = 100;

/** The block of this process, from which each port is given in turn. */
class Ports {
  #first = null;
  #given = 0;

  /** @returns a port that nobody listens on; it is given again when all others of the block were */
  async take() {
    this.#first ??= reserveBlock();
    const first = await this.#first;
    for (let tried = 1; tried < SIZE; tried++) {
      const port = first + 1 + (this.#given++ % (SIZE - 1));
      const server = await listen(port);
      if (server === null) continue;
      await new Promise((resolve) => server.close(resolve));
      return port;
    }
    throw new Error(`Every port from ${first} to ${first + SIZE - 1} is in use`);
  }
}

async function reserveBlock() {
  const start = randomInt(BLOCKS);
  for (let index = 0; index < BLOCKS; index++) {
    const first = FIRST + ((start + index) % BLOCKS) * SIZE;
    const server = await listen(first);
    if (server === null) continue;
    server.unref();
    return first;
  }
  throw new Error(`Every block of ports from ${FIRST} is in use`);
}

/** @returns null where somebody else listens */
function listen(port) {
  return new Promise((resolve) => {
    const server = createServer();
    server.once('error', () => resolve(null));
    server.listen(port, '127.0.0.1', () => resolve(server));
  });
}

/** Jest evaluates this module for each test file, and environment.mjs gives all of them the ports of the process. */
export const ports = globalThis.testPorts ?? new Ports();

export function findFreePort() {
  return ports.take();
}
