// Allocates ports of the loopback interface that no other process of any test run uses.
import { createServer } from 'node:net';
import { randomInt } from 'node:crypto';

/** Below the range of ephemeral ports: /proc/sys/net/ipv4/ip_local_port_range. */
const FIRST = 20_000;
const BLOCKS = 120;
/** Ports of a block. The first port stays open: it reserves the block, and the kernel closes it when the process ends. */
const SIZE = 100;

/** The block of this process, whose ports are allocated in turn. */
class Ports {
  #first = null;
  #given = 0;

  /** @returns a port that is not in use; ports are reused after all others of the block */
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

/** @returns null if the port is in use */
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
