import type { ChildProcess } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { putReplicas, startBalancer, stopBalancer } from './balancer.js';
import { findFreePort } from './postgres.mjs';

/** The balancer of deploy/haproxy.cfg, in front of replicas on the loopback interface. */
export class TestHaproxy {
  private constructor(
    readonly port: number,
    private readonly child: ChildProcess,
    private readonly directory: string,
  ) {}

  /** @param replicas where on 127.0.0.1 they listen: one or two */
  static async start(...replicas: number[]): Promise<TestHaproxy> {
    const directory = mkdtempSync(join(process.env.TEST_WORK_DIRECTORY ?? tmpdir(), 'haproxy-'));
    const port = await findFreePort();
    const args = ['-db', ...writeHaproxy(directory, port, replicas)];
    return new TestHaproxy(port, await startBalancer('haproxy', args, port), directory);
  }

  async stop(): Promise<void> {
    await stopBalancer(this.child);
    rmSync(this.directory, { recursive: true, force: true });
  }
}

/**
 * Writes deploy/haproxy.cfg with other addresses.
 * @returns the arguments with which it is found
 */
export function writeHaproxy(directory: string, port: number, replicas: readonly number[]): string[] {
  const deployed = putReplicas(readFileSync('deploy/haproxy.cfg', 'utf8'), replicas);
  const file = join(directory, 'haproxy.cfg');
  writeFileSync(file, deployed.replace('bind :8080', `bind 127.0.0.1:${port}`));
  return ['-f', file];
}
