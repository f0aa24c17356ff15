import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startBalancer, stopBalancer } from './balancer.js';
import { findFreePort } from './postgres.mjs';

/** haproxy in front of directory servers: one address, checks by a bind; sessions end with their server. */
export class LdapHaproxy {
  private constructor(
    readonly port: number,
    private readonly targets: number,
    private readonly child: ChildProcess,
    private readonly directory: string,
  ) {}

  /** @param targets ports on 127.0.0.1 */
  static async start(...targets: number[]): Promise<LdapHaproxy> {
    const directory = mkdtempSync(join(process.env.TEST_WORK_DIRECTORY ?? tmpdir(), 'haproxy-'));
    const port = await findFreePort();
    const file = join(directory, 'haproxy.cfg');
    writeFileSync(file, configurationOf(directory, port, targets));
    const child = await startBalancer('haproxy', ['-db', '-f', file], port);
    return new LdapHaproxy(port, targets.length, child, directory);
  }

  get url(): string {
    return `ldap://127.0.0.1:${this.port}`;
  }

  /** Enables these servers only, by index, and ends the sessions of the others. */
  async use(...places: number[]): Promise<void> {
    for (let place = 0; place < this.targets; place++) {
      const server = `directory/server-${place}`;
      await this.command(`set server ${server} state ${places.includes(place) ? 'ready' : 'maint'}`);
      if (!places.includes(place)) await this.command(`shutdown sessions server ${server}`);
    }
  }

  async stop(): Promise<void> {
    await stopBalancer(this.child);
    rmSync(this.directory, { recursive: true, force: true });
  }

  private async command(line: string): Promise<void> {
    const socket = connect(join(this.directory, 'haproxy.sock'));
    let answer = '';
    socket.setEncoding('utf8').on('data', (text: string) => (answer += text));
    socket.end(`${line}\n`);
    await once(socket, 'close');
    if (answer.trim() !== '') throw new Error(`haproxy: ${answer}`);
  }
}

function configurationOf(directory: string, port: number, targets: readonly number[]): string {
  return [
    'global',
    `  stats socket ${join(directory, 'haproxy.sock')} level admin`,
    'defaults',
    '  mode tcp',
    '  timeout connect 5s',
    '  timeout check 5s',
    '  timeout client 1h',
    '  timeout server 1h',
    'listen directory',
    `  bind 127.0.0.1:${port}`,
    '  balance roundrobin',
    '  option ldap-check',
    '  default-server check inter 500ms fall 2 rise 1 on-marked-down shutdown-sessions',
    ...targets.map((target, place) => `  server server-${place} 127.0.0.1:${target}`),
    '',
  ].join('\n');
}
