import type { Server } from 'node:http';
import type { Socket } from 'node:net';

const CHECK_INTERVAL_MS = 1000;

/**
 * Closes connections whose clients do not read their responses, which stay in memory. Node has time limits for
 * requests only. `timeoutMs`: how long bytes of responses may wait without a pause.
 */
export function closeSlowReaders(server: Server, timeoutMs: number): void {
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
      else if (now - (waiting.get(socket) ?? now) > timeoutMs) socket.destroy();
    }
  }, CHECK_INTERVAL_MS).unref();
  server.once('close', () => {
    clearInterval(timer);
  });
}
