import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import { eventually } from '../eventually.js';
import { spawnBound } from '../spawn-bound.mjs';
import { findFreePort } from './postgres.mjs';
import { requireProgram } from './system-packages.mjs';

/** Names of the two replicas in the files of deploy/. */
const REPLICAS = ['10.77.0.11:3000', '10.77.0.12:3000'];

/** A balancer of deploy/, in front of one or two replicas on the loopback interface. */
class TestBalancer {
  readonly port: number;
  protected readonly directory: string;
  private readonly child: ChildProcess;

  protected constructor({ port, directory, child }: Started) {
    this.port = port;
    this.directory = directory;
    this.child = child;
  }

  async stop(): Promise<void> {
    const ended = once(this.child, 'exit');
    this.child.kill('SIGTERM');
    await ended;
    rmSync(this.directory, { recursive: true, force: true });
  }
}

interface Started {
  readonly port: number;
  readonly directory: string;
  readonly child: ChildProcess;
}

/** Starts a balancer in the foreground, and waits until it accepts connections. */
async function start(
  name: string,
  argumentsFor: (directory: string, port: number) => readonly string[],
): Promise<Started> {
  const directory = mkdtempSync(join(process.env.TEST_WORK_DIRECTORY ?? tmpdir(), `${name}-`));
  const port = await findFreePort();
  const child = spawnBound(requireProgram(name), argumentsFor(directory, port), { stdio: 'ignore' });
  while (!(await isListening(port))) {
    if (child.exitCode !== null) throw new Error(`${name} ended with ${child.exitCode}`);
    await sleep(20);
  }
  return { port, directory, child };
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

/** A configuration of deploy/ with these replicas; for one, the line of the other is removed. */
function configurationWith(file: string, ports: readonly number[]): string {
  return REPLICAS.reduce(
    (content, address, index) => {
      if (!content.includes(address)) throw new Error(`${file} does not name ${address}`);
      const port = ports[index];
      if (port !== undefined) return content.replace(address, `127.0.0.1:${port}`);
      return content.replace(new RegExp(`^.*${address}.*\n`, 'm'), '');
    },
    readFileSync(file, 'utf8'),
  );
}

/** The proxy of deploy/nginx.conf. */
export class TestNginx extends TestBalancer {
  /** @param replicas ports on 127.0.0.1: one or two */
  static async start(...replicas: number[]): Promise<TestNginx> {
    return new TestNginx(await start('nginx', (directory, port) => writeNginx(directory, port, replicas)));
  }

  /** Number of requests that nginx sent to a replica, including those without a response. */
  countSentTo(replica: number): number {
    const sent = readFileSync(join(this.directory, 'access.log'), 'utf8').split('\n');
    return sent.filter((line) => line.split(', ').includes(`127.0.0.1:${replica}`)).length;
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
  const deployed = configurationWith('deploy/nginx.conf', replicas);
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

/** The balancer of deploy/haproxy.cfg. */
export class TestHaproxy extends TestBalancer {
  private replicas = 0;

  /** @param replicas ports on 127.0.0.1: one or two */
  static async start(...replicas: number[]): Promise<TestHaproxy> {
    const haproxy = new TestHaproxy(
      await start('haproxy', (directory, port) => ['-db', ...writeHaproxy(directory, port, replicas)]),
    );
    haproxy.replicas = replicas.length;
    return haproxy;
  }

  /** Waits until the health checks of all replicas succeed. */
  async untilAllUp(): Promise<void> {
    await eventually(async () => {
      const socket = connect(join(this.directory, 'socket'));
      socket.write('show servers state directory\n');
      const lines = (await text(socket)).split('\n').map((line) => line.split(' '));
      // The sixth column is the state: 2 means up.
      return lines.filter(([, backend, , , , state]) => backend === 'directory' && state === '2').length;
    }, this.replicas);
  }
}

/**
 * Writes deploy/haproxy.cfg with other addresses.
 * @returns arguments of haproxy
 */
export function writeHaproxy(directory: string, port: number, replicas: readonly number[]): string[] {
  const file = join(directory, 'haproxy.cfg');
  writeFileSync(
    file,
    configurationWith('deploy/haproxy.cfg', replicas)
      .replace('bind :8080', `bind 127.0.0.1:${port}`)
      .replace('global\n', `global\n  stats socket ${join(directory, 'socket')}\n`),
  );
  return ['-f', file];
}
