// The service as a process of its own, and how soon it shows what a query waits for.
import { execFile, spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { performance } from 'node:perf_hooks';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';

const execute = promisify(execFile);

export class Service {
  log = '';

  constructor(environment) {
    this.environment = environment;
    this.child = spawn(process.execPath, ['dist/bundled/main.js'], {
      env: { ...process.env, ...environment },
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    this.child.stdout.setEncoding('utf8').on('data', (text) => (this.log += text));
  }

  /** @returns milliseconds until the log matches */
  async untilLogged(pattern) {
    const startedAt = performance.now();
    while (!pattern.test(this.log)) {
      if (this.child.exitCode !== null) throw new Error(`The service ended: ${this.log}`);
      await sleep(10);
    }
    return performance.now() - startedAt;
  }

  /** Maximum resident size in megabytes (proc(5), VmHWM). */
  get megabytes() {
    const status = readFileSync(`/proc/${this.child.pid}/status`, 'utf8');
    return Math.round(Number(/VmHWM:\s+(\d+)/.exec(status)?.[1] ?? 0) / 1024);
  }

  /** Duration of each revision in milliseconds, from the log. */
  get revisions() {
    return [...this.log.matchAll(/Revision \d+ in (\d+) ms/g)].map(([, milliseconds]) =>
      Number(milliseconds),
    );
  }

  async account() {
    const { stdout } = await execute(
      process.execPath,
      [
        'dist/bundled/cli.js',
        'service-account',
        'create',
        '--id',
        'bench',
        '--name',
        'Bench',
        '--scopes',
        'read,directory',
        '--json',
      ],
      { env: { ...process.env, ...this.environment } },
    );
    this.authorization = `Basic ${JSON.parse(stdout).token}`;
  }

  async execute(query) {
    const response = await fetch(`http://127.0.0.1:${this.environment.PORT}/graphql/v1`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', authorization: this.authorization },
      body: JSON.stringify({ query }),
    });
    const { data, errors } = await response.json();
    if (errors !== undefined) throw new Error(errors[0].message);
    return data;
  }

  /** @returns milliseconds until a response is as expected */
  async until(query, isExpected) {
    const startedAt = performance.now();
    while (!isExpected(await this.execute(query))) await sleep(1);
    return performance.now() - startedAt;
  }

  async stop() {
    this.child.kill('SIGTERM');
    await new Promise((resolve) => this.child.once('exit', resolve));
  }
}

export function quantile(values, share) {
  const sorted = [...values].sort((left, right) => left - right);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))];
}

export const report = (label, values) =>
  console.log(
    `${label}: median ${quantile(values, 0.5).toFixed(0)} ms, 95 % ${quantile(values, 0.95).toFixed(0)} ms, 99 % ${quantile(values, 0.99).toFixed(0)} ms (${values.length} times)`,
  );
