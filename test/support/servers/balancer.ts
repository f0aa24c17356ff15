import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { connect } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { spawnBound } from '../spawn-bound.mjs';
import { findProgram } from './system-packages.mjs';

/** Names of the two replicas in the files of deploy/. */
const REPLICAS = ['10.77.0.11:3000', '10.77.0.12:3000'];

/**
 * Replaces the replicas of a configuration of deploy/ by addresses of the loopback interface.
 * @param ports of one or two replicas; for one, the line of the other is removed
 */
export function putReplicas(configuration: string, ports: readonly number[]): string {
  return REPLICAS.reduce((text, address, index) => {
    if (!text.includes(address)) throw new Error(`The configuration does not name ${address}`);
    const port = ports[index];
    if (port !== undefined) return text.replace(address, `127.0.0.1:${port}`);
    return text.replace(new RegExp(`^.*${address}.*\n`, 'm'), '');
  }, configuration);
}

/** Starts a balancer in the foreground, and waits until it accepts connections. */
export async function startBalancer(
  name: string,
  args: readonly string[],
  port: number,
): Promise<ChildProcess> {
  const program = findProgram(name);
  if (program === null) throw new Error(`${name} is not installed: npm test installs it first`);
  const child = spawnBound(program, args, { stdio: 'ignore' });
  while (!(await isListening(port))) {
    if (child.exitCode !== null) throw new Error(`${name} ended with ${child.exitCode}`);
    await sleep(20);
  }
  return child;
}

export async function stopBalancer(child: ChildProcess): Promise<void> {
  const ended = once(child, 'exit');
  child.kill('SIGTERM');
  await ended;
}

function isListening(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1', () => {
      socket.destroy();
      resolve(true);
    });
    socket.on('error', () => resolve(false));
  });
}
