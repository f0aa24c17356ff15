import type { Server } from 'node:http';
import type { Socket } from 'node:net';

/** Milliseconds between two looks at the connections. */
const LOOK = 1000;

/**
 * Closes connections whose clients do not take their answers. Each holds a place among the connections that there may be,
 * and the answer in memory. Node has limits for requests that do not arrive, and none for answers that are not read.
 * @param server what the connections belong to
 * @param patience milliseconds for which bytes of answers may wait without a pause
 */
export function closeSlowReaders(server: Server, patience: number): void {
  const connections = new Set<Socket>();
  /** Since when bytes wait, in milliseconds of `performance.now()`. */
  const waiting = new WeakMap<Socket, number>();
  server.on('connection', (socket: Socket) => {
    connections.add(socket);
    socket.once('close', () => connections.delete(socket));
  });
  const timer = setInterval(() => {
    const now = performance.now();
    for (const socket of connections) {
      if (socket.writableLength === 0) waiting.delete(socket);
      else if (!waiting.has(socket)) waiting.set(socket, now);
      else if (now - (waiting.get(socket) ?? now) > patience) socket.destroy();
    }
  }, LOOK).unref();
  server.once('close', () => {
    clearInterval(timer);
  });
}
