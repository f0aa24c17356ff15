import { type ChildProcess, execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import { LONGEST_WAIT } from '../eventually.js';
import { findFreePort } from './postgres.mjs';
import { spawnBound } from '../spawn-bound.mjs';
import { findProgram } from './system-packages.mjs';

/** The password of the test's Redis. */
export const REDIS_PASSWORD = 'hush-hush';

/** A Redis of a test, without persistence, which can be stopped, killed and filled. */
export class TestRedis {
  private child: ChildProcess | null = null;

  private constructor(readonly port: number) {}

  /** Creates one that is not running yet. */
  static async prepare(): Promise<TestRedis> {
    return new TestRedis(await findFreePort());
  }

  get url(): string {
    return `redis://:${REDIS_PASSWORD}@127.0.0.1:${this.port}`;
  }

  async start(...more: string[]): Promise<void> {
    const program = findProgram('redis-server');
    if (program === null) throw new Error('Redis is not installed: npm test installs it first');
    const settings = ['--port', String(this.port), '--bind', '127.0.0.1', '--requirepass', REDIS_PASSWORD];
    const nothingKept = ['--save', '', '--appendonly', 'no', '--dir', tmpdir()];
    for (const latest = performance.now() + LONGEST_WAIT; performance.now() < latest;) {
      this.child ??= this.spawn(program, [...settings, ...nothingKept, ...more]);
      if ((await this.sendCommand('PING').catch(() => '')).includes('PONG')) return;
      await sleep(20);
    }
    throw new Error('Redis does not answer');
  }

  private spawn(program: string, args: string[]): ChildProcess {
    const child = spawnBound(program, args, { stdio: 'ignore' });
    child.once('exit', () => {
      // Another process may use its port for a moment: then the start is repeated.
      if (this.child === child) this.child = null;
    });
    return child;
  }

  /**
   * Like start(), with an additional TLS port.
   * @param directory for the certificate
   */
  async startEncrypted(directory: string): Promise<{ url: string; certificate: string }> {
    const port = await findFreePort();
    const [key, certificate] = [join(directory, 'redis.key'), join(directory, 'redis.pem')];
    const whose = ['-subj', '/CN=localhost', '-addext', 'subjectAltName=IP:127.0.0.1'];
    const kind = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-days', '2'];
    execFileSync('openssl', ['req', '-x509', ...kind, ...whose, '-keyout', key, '-out', certificate], {
      stdio: 'ignore',
    });
    const files = ['--tls-cert-file', certificate, '--tls-key-file', key, '--tls-ca-cert-file', certificate];
    await this.start('--tls-port', String(port), '--tls-auth-clients', 'no', ...files);
    return {
      url: `rediss://:${REDIS_PASSWORD}@127.0.0.1:${port}`,
      certificate: readFileSync(certificate, 'utf8'),
    };
  }

  /** Sends a command on a connection of its own, and returns the bytes of the reply. */
  async sendCommand(...words: string[]): Promise<string> {
    const socket = connect(this.port, '127.0.0.1');
    socket.setTimeout(30_000, () => socket.destroy(new Error('Redis does not answer')));
    const lines = [['AUTH', REDIS_PASSWORD], words, ['QUIT']].map((each) => each.map(quote).join(' '));
    socket.write(`${lines.join('\r\n')}\r\n`);
    const [, ...answers] = (await text(socket)).split('\r\n');
    return answers.join('\n');
  }

  async keys(): Promise<string[]> {
    return (await this.sendCommand('KEYS', '*')).split('\n').filter((line) => /^[^*$+]/.test(line));
  }

  /** Pauses the process: connections are accepted, but not answered. */
  hang(): void {
    this.child?.kill('SIGSTOP');
  }

  resume(): void {
    this.child?.kill('SIGCONT');
  }

  async kill(): Promise<void> {
    const { child } = this;
    this.child = null;
    if (child === null) return;
    const ended = once(child, 'exit');
    child.kill('SIGKILL');
    await ended;
  }
}

function quote(word: string): string {
  return `"${word.replace(/["\\]/g, '\\$&')}"`;
}
