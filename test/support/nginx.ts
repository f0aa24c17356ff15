import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { findFreePort } from './postgres.mjs';
import { variable } from './store.js';
import { findProgram } from './system-packages.mjs';

/** A real proxy in front of a service: it adds the address of whoever asks to X-Forwarded-For. */
export class TestNginx {
  private constructor(
    readonly port: number,
    private readonly child: ChildProcess,
    private readonly directory: string,
  ) {}

  /** @param servicePort where on 127.0.0.1 the service listens */
  static async start(servicePort: number): Promise<TestNginx> {
    const program = findProgram('nginx');
    if (program === null) throw new Error('nginx is not installed: npm test installs it first');
    const directory = mkdtempSync(join(variable('TEST_WORK_DIRECTORY'), 'nginx-'));
    const port = await findFreePort();
    const file = join(directory, 'nginx.conf');
    writeFileSync(file, configuration(directory, port, servicePort));
    const child = spawn(program, ['-p', directory, '-c', file, '-e', join(directory, 'error.log')], {
      stdio: 'ignore',
    });
    const kill = () => child.kill('SIGKILL');
    process.once('exit', kill);
    child.once('exit', () => process.off('exit', kill));
    while (!(await isListening(port))) {
      if (child.exitCode !== null) throw new Error(`nginx ended with ${child.exitCode}`);
      await sleep(20);
    }
    return new TestNginx(port, child, directory);
  }

  async stop(): Promise<void> {
    const ended = once(this.child, 'exit');
    this.child.kill('SIGTERM');
    await ended;
    rmSync(this.directory, { recursive: true, force: true });
  }
}

function configuration(directory: string, port: number, servicePort: number): string {
  const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi']
    .map((name) => `${name}_temp_path ${join(directory, name)};`)
    .join(' ');
  return `
daemon off; master_process off; pid ${join(directory, 'pid')};
events { worker_connections 64; }
http {
  access_log off; ${temporary}
  server {
    listen 127.0.0.1:${port};
    location / {
      proxy_pass http://127.0.0.1:${servicePort};
      proxy_set_header Host $host:$server_port;
      proxy_set_header X-Forwarded-For $proxy_add_x_forwarded_for;
    }
  }
}
`;
}

function isListening(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1', () => {
      socket.destroy();
      resolve(true);
    });
    socket.on('error', () => {
      resolve(false);
    });
  });
}
