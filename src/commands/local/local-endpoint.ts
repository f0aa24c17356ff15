import { mkdirSync, rmSync } from 'node:fs';
import type { Server, Socket } from 'node:net';
import { join } from 'node:path';
import { connectIn, listenIn } from '../../database/embedded/lock-socket.js';
import type { AccountOperations } from '../../service-accounts/account-operations.js';

/** A directory in that of an embedded database. Only its user can enter it, even if others can enter the outer one. */
const DIRECTORY = '.service.commands';
const SOCKET = 'socket';

/** Milliseconds that each side waits for the other. */
export const TIMEOUT_MS = 30_000;

/** What a command asks of the service. Each account operation has the name of its method. */
export type LocalOperation = keyof AccountOperations | 'check' | 'enableWebhook';

/** The operations and the number of their arguments. */
export const OPERATIONS: Readonly<Record<LocalOperation, number>> = {
  check: 0,
  create: 1,
  describeAll: 0,
  enableWebhook: 2,
  revoke: 1,
  rotate: 2,
  update: 2,
};

export interface LocalRequest {
  readonly operation: LocalOperation;
  readonly args: readonly unknown[];
}

/** Only the holder of the database calls it, so what it replaces was left by an ended process. */
export async function listenForCommands(database: string, server: Server): Promise<void> {
  removeEndpoint(database);
  const directory = join(database, DIRECTORY);
  mkdirSync(directory, { mode: 0o700 });
  await listenIn(directory, join(directory, SOCKET), server);
}

export function removeEndpoint(database: string): void {
  rmSync(join(database, DIRECTORY), { recursive: true, force: true });
}

/** @throws the error of the system if no process listens, or if this user cannot reach it */
export function connectToService(database: string): Promise<Socket> {
  const directory = join(database, DIRECTORY);
  return connectIn(directory, join(directory, SOCKET));
}

/** Parses JSON in which the properties whose names end with `At` are times. Null for other text. */
export function parseWithTimes(text: string): unknown {
  try {
    return JSON.parse(text, (name, value: unknown) =>
      name.endsWith('At') && typeof value === 'string' ? new Date(value) : value,
    );
  } catch {
    return null;
  }
}
