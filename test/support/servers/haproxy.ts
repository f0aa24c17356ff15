import type { ChildProcess } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { putReplicas, startBalancer, stopBalancer } from './balancer.js';
import { eventually } from '../eventually.js';
import { findFreePort } from './postgres.mjs';

/** The balancer of deploy/haproxy.cfg, in front of replicas on the loopback interface. */
export class TestHaproxy {
  private constructor(
    readonly port: number,
    private readonly child: ChildProcess,
    private readonly directory: string,
    private readonly replicas: number,
  ) {}

  /** @param replicas ports on 127.0.0.1: one or two */
  static async start(...replicas: number[]): Promise<TestHaproxy> {
    const directory = mkdtempSync(join(process.env.TEST_WORK_DIRECTORY ?? tmpdir(), 'haproxy-'));
    const port = await findFreePort();
    const args = ['-db', ...writeHaproxy(directory, port, replicas)];
    return new TestHaproxy(port, await startBalancer('haproxy', args, port), directory, replicas.length);
  }

  /** Waits until the health checks of all replicas succeed. */
  async untilAllUp(): Promise<void> {
    await eventually(() => this.countUp(), this.replicas);
  }

  async stop(): Promise<void> {
    await stopBalancer(this.child);
    rmSync(this.directory, { recursive: true, force: true });
  }

  private async countUp(): Promise<number> {
    const socket = connect(socketIn(this.directory));
    socket.write('show servers state directory\n');
    const lines = (await text(socket)).split('\n').map((line) => line.split(' '));
    // The sixth column is the state: 2 means up.
    return lines.filter(([, backend, , , , state]) => backend === 'directory' && state === '2').length;
  }
}

/** Port of the statistics. */
const socketIn = (directory: string) => join(directory, 'socket');

/**
 * Writes deploy/haproxy.cfg with other addresses.
 * @returns arguments of haproxy
 */
export function writeHaproxy(directory: string, port: number, replicas: readonly number[]): string[] {
  const deployed = putReplicas(readFileSync('deploy/haproxy.cfg', 'utf8'), replicas);
  const file = join(directory, 'haproxy.cfg');
  writeFileSync(
    file,
    deployed
      .replace('bind :8080', `bind 127.0.0.1:${port}`)
      .replace('global\n', `global\n  stats socket ${socketIn(directory)}\n`),
  );
  return ['-f', file];
}
