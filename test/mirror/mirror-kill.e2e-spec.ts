import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { runCommand } from '../support/clients/command.js';
import { buildLdif } from '../support/builders/directory.js';
import { repetitions } from '../support/repetitions.js';
import { spawnBound } from '../support/spawn-bound.mjs';
import { createDatabase, type TestDatabase, variable } from '../support/servers/store.js';

const KILLS = repetitions({ usually: 2, long: 52 });
/** A process is killed after at most this many writes, and some milliseconds later. */
const WRITTEN = 3;
const LATER = 60;
const PEOPLE = Array.from({ length: 100 }, (_, index) => `person-${index}`);

/** In each version, all users have other names, and another half of them is in the groups. */
function ldifOf(version: number): string {
  return buildLdif(
    PEOPLE.map((id) => ({ id, name: `Version ${version}` })),
    [
      { id: 'club', members: PEOPLE.filter((_, index) => index % 2 === version) },
      { id: 'all', members: ['@club'] },
    ],
  );
}

interface Contents {
  names: string[] | null;
  people: number;
  halves: number[] | null;
  effective: number;
  counted: number;
  held: number;
  direct: number;
  latest: boolean;
  reported: number;
  revision: number;
  accounts: string[];
}

/** A process that writes, and prints what it has written. */
class Writer {
  private output = '';
  private readonly ended: Promise<unknown>;

  constructor(private readonly child: ChildProcess) {
    child.stdout?.setEncoding('utf8').on('data', (text: string) => (this.output += text));
    this.ended = once(child, 'close');
  }

  /** The content at its start. */
  async contents(): Promise<Contents> {
    await this.untilWritten(0);
    return (this.lines()[0] as { contents: Contents }).contents;
  }

  /** Waits for a number of printed writes; fails if the process ends before. */
  async untilWritten(times: number): Promise<void> {
    while (this.lines().length <= times) {
      await Promise.race([once(this.child.stdout ?? this.child, 'data'), this.ended]);
      if (this.child.exitCode !== null) throw new Error('It has ended');
    }
  }

  /** @returns the number of printed writes at that time */
  async kill(): Promise<{ revision: number; accounts: string[] }> {
    this.child.kill('SIGKILL');
    await this.ended;
    const lines = this.lines() as { revision?: number; account?: string }[];
    return {
      revision: Math.max(0, ...lines.map(({ revision = 0 }) => revision)),
      accounts: lines.flatMap(({ account = [] }) => account),
    };
  }

  /** Writes that it could finish. */
  private lines(): unknown[] {
    return this.output
      .split('\n')
      .slice(0, -1)
      .map((line) => JSON.parse(line) as unknown);
  }
}

describe('a process that writes continuously', () => {
  let database: TestDatabase;
  let work: string;
  /** Writes that were printed. */
  let revision = 0;
  const accounts: string[] = [];

  beforeAll(async () => {
    database = await createDatabase();
    work = mkdtempSync(join(variable('TEST_WORK_DIRECTORY'), 'kill-'));
    for (const version of [0, 1]) writeFileSync(join(work, `${version}.ldif`), ldifOf(version));
  });

  afterAll(async () => {
    await database.drop();
    rmSync(work, { recursive: true });
  });

  function start(): Writer {
    const files = [0, 1].map((version) => join(work, `${version}.ldif`));
    return new Writer(
      spawnBound(process.execPath, ['test/support/write-forever.mjs', ...files], {
        env: {
          PATH: process.env.PATH,
          TMPDIR: process.env.TMPDIR,
          DATABASE_URL: database.url,
          DIRECTORY_GUARD_PERCENT: '100',
        },
        stdio: ['ignore', 'pipe', 'inherit'],
        timeout: 600_000,
        killSignal: 'SIGKILL',
      }),
    );
  }

  function expectWhole({ revision: found, accounts: known, ...contents }: Contents): void {
    const version = contents.halves?.[0] ?? 0;
    expect(contents).toEqual({
      names: [`Version ${version}`],
      people: PEOPLE.length,
      halves: [version],
      effective: PEOPLE.length,
      counted: PEOPLE.length,
      held: PEOPLE.length,
      direct: PEOPLE.length / 2,
      latest: true,
      // The first revision is not in the log.
      reported: found === 1 ? 0 : PEOPLE.length,
    });
    expect(found).toBeGreaterThanOrEqual(revision);
    expect(known).toEqual(expect.arrayContaining(accounts));
  }

  it(`leaves whole revisions and all printed writes when it is killed: ${KILLS} times`, async () => {
    for (let kill = 0; kill < KILLS; kill++) {
      const writer = start();
      const contents = await writer.contents();
      if (kill > 0) expectWhole(contents);
      // The second write of a process is an account.
      await writer.untilWritten(1 + ((kill + 1) % WRITTEN));
      await sleep(Math.random() * LATER);
      const written = await writer.kill();
      revision = Math.max(revision, written.revision);
      accounts.push(...written.accounts);
    }
    expect(revision).toBeGreaterThanOrEqual(KILLS);
    expect(accounts.length).toBeGreaterThanOrEqual(KILLS / 2);
    const last = start();
    expectWhole(await last.contents());
    await last.kill();
    const listed = await runCommand(['service-account', 'list', '--json'], { DATABASE_URL: database.url });
    const ids = (JSON.parse(listed.stdout) as { id: string }[]).map(({ id }) => id);
    expect(ids).toEqual(expect.arrayContaining(accounts));
  });
});
