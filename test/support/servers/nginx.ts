import type { ChildProcess } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { putReplicas, startBalancer, stopBalancer } from './balancer.js';
import { findFreePort } from './postgres.mjs';

/** The proxy of deploy/nginx.conf, in front of replicas on the loopback interface. */
export class TestNginx {
  private constructor(
    readonly port: number,
    private readonly child: ChildProcess,
    private readonly directory: string,
  ) {}

  /** @param replicas ports on 127.0.0.1: one or two */
  static async start(...replicas: number[]): Promise<TestNginx> {
    const directory = mkdtempSync(join(process.env.TEST_WORK_DIRECTORY ?? tmpdir(), 'nginx-'));
    const port = await findFreePort();
    const args = writeNginx(directory, port, replicas);
    return new TestNginx(port, await startBalancer('nginx', args, port), directory);
  }

  /** Number of requests that nginx sent to a replica, including those without a response. */
  countSentTo(replica: number): number {
    const sent = readFileSync(join(this.directory, 'access.log'), 'utf8').split('\n');
    return sent.filter((line) => line.split(', ').includes(`127.0.0.1:${replica}`)).length;
  }

  async stop(): Promise<void> {
    await stopBalancer(this.child);
    rmSync(this.directory, { recursive: true, force: true });
  }
}

/**
 * Writes the configuration of nginx around deploy/nginx.conf, with all its files in one directory.
 * @returns arguments of nginx
 */
export function writeNginx(directory: string, port: number, replicas: readonly number[]): string[] {
  const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi']
    .map((name) => `${name}_temp_path ${join(directory, name)};`)
    .join(' ');
  const deployed = putReplicas(readFileSync('deploy/nginx.conf', 'utf8'), replicas);
  const file = join(directory, 'nginx.conf');
  writeFileSync(
    file,
    `
daemon off; master_process off; pid ${join(directory, 'pid')};
events { worker_connections 1024; }
http {
  log_format replicas $upstream_addr;
  access_log ${join(directory, 'access.log')} replicas;
  ${temporary}
  ${deployed.replace('listen 8080;', `listen 127.0.0.1:${port};`)}
}
`,
  );
  return ['-p', directory, '-c', file, '-e', join(directory, 'error.log')];
}
