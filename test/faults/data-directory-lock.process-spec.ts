import { type ChildProcessWithoutNullStreams, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import {
  existsSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { repetitions } from '../support/repetitions.js';
import { spawnBound } from '../support/spawn-bound.mjs';
import { findFaketime } from '../support/servers/system-packages.mjs';
import { DatabaseStartError } from '../../src/database/connections/database-start.error.js';
import { DirectoryLock } from '../../src/database/embedded/data-directory-lock.js';
import { HOLDER_FILE, LOCK_FILE, readHolder, writeHolder } from '../../src/database/embedded/lock-holder.js';

const ROUNDS = repetitions({ usually: 1, long: 5 });
const AT_ONCE = 6;
/** Takes the lock at the given time, prints what it waits for and the outcome, and keeps running. */
const TAKE = `
  import('${join(__dirname, '../../dist/database/embedded/data-directory-lock.js')}').then(({ DirectoryLock }) => {
    console.log('here');
    process.stdin.on('data', async (moment) => {
      while (Date.now() < Number(moment));
      try {
        await DirectoryLock.take(process.argv[1], {
          onWait: (text) => console.log(text),
          onLost: () => { console.log('lost'); process.exit(3); },
        });
        console.log('held');
      } catch (error) {
        console.log(error.message);
      }
    });
  });`;
const NOTHING = { onWait: () => undefined, onLost: () => undefined };
/** Runs each command in a PID namespace of its own, like a container. */
const NAMESPACE = ['unshare', '--pid', '--fork', '--mount-proc', '--kill-child'];

class Taker {
  output = '';
  private constructor(private readonly child: ChildProcessWithoutNullStreams) {
    child.stdout.setEncoding('utf8').on('data', (text: string) => (this.output += text));
  }

  /** @param prefix a command that runs another one */
  static async start(directory: string, prefix: string[] = [], env = process.env): Promise<Taker> {
    const command = [...prefix, process.execPath, '-e', TAKE, directory];
    const [program = process.execPath] = command;
    const taker = new Taker(spawnBound(program, command.slice(1), { env }));
    await taker.untilPrinted(/here\n/);
    return taker;
  }

  async take(moment = 0): Promise<string> {
    const before = this.output.length;
    this.child.stdin.write(`${moment}\n`);
    const isSettled = () => /held\n|is in use|keep taking/.test(this.output.slice(before));
    while (!isSettled()) await once(this.child.stdout, 'data');
    return this.output.slice(before);
  }

  async untilPrinted(pattern: RegExp): Promise<void> {
    while (!pattern.test(this.output)) await once(this.child.stdout, 'data');
  }

  signal(signal: NodeJS.Signals): void {
    this.child.kill(signal);
  }

  async kill(): Promise<void> {
    const ended = once(this.child, 'exit');
    this.child.kill('SIGKILL');
    await ended;
  }

  async end(): Promise<number | null> {
    if (this.child.exitCode === null && this.child.signalCode === null) await once(this.child, 'exit');
    return this.child.exitCode;
  }
}

describe('the lock of a database directory', () => {
  let parent: string;
  let directory: string;
  let takers: Taker[];
  const start = async (...args: [string[]?, NodeJS.ProcessEnv?]) => {
    const taker = await Taker.start(directory, ...args);
    takers.push(taker);
    return taker;
  };
  beforeEach(() => {
    parent = mkdtempSync(join(tmpdir(), 'lock-'));
    directory = join(parent, 'mirror');
    takers = [];
  });
  afterEach(async () => {
    for (const taker of takers) taker.signal('SIGKILL');
    await Promise.all(takers.map((taker) => taker.end()));
    rmSync(parent, { recursive: true });
  });

  it('creates the directory, for this user only, with the lock inside', async () => {
    const lock = await DirectoryLock.take(directory, NOTHING);
    expect(statSync(directory).mode & 0o777).toBe(0o700);
    expect(statSync(join(directory, LOCK_FILE)).isSocket()).toBe(true);
    expect(readHolder(directory)?.pid).toBe(process.pid);
    lock.release();
    expect([LOCK_FILE, HOLDER_FILE].map((name) => existsSync(join(directory, name)))).toEqual([false, false]);
  });

  it('is held while its process lives, and the error names that process', async () => {
    const lock = await DirectoryLock.take(directory, NOTHING);
    await expect(DirectoryLock.take(directory, NOTHING)).rejects.toThrow(DatabaseStartError);
    await expect(DirectoryLock.take(directory, NOTHING)).rejects.toThrow(`in use by process ${process.pid}:`);
    lock.release();
    (await DirectoryLock.take(directory, NOTHING)).release();
  });

  it('works in a directory whose path is longer than the maximum for sockets', async () => {
    directory = join(parent, 'a'.repeat(100), 'b'.repeat(100));
    const lock = await DirectoryLock.take(directory, NOTHING);
    await expect(DirectoryLock.take(directory, NOTHING)).rejects.toThrow('in use by process');
    lock.release();
  });

  it('works between processes in different PID namespaces', async () => {
    const [first, second] = [await start(NAMESPACE), await start(NAMESPACE)];
    expect(await first.take()).toBe('held\n');
    // Each of them is process 1 in its namespace.
    expect(await second.take()).toMatch(/in use by process 1:/);
    // This number belongs to a running process in this namespace, and to none in the other.
    await expect(DirectoryLock.take(directory, NOTHING)).rejects.toThrow('in use by process 1:');
    await first.kill();
    // The command that created the namespace has ended; its child ends a moment later.
    let outcome = await second.take();
    while (outcome !== 'held\n') outcome = await second.take();
  });

  it('is held while its holder is paused, and is free immediately after that is killed', async () => {
    const [first, second] = [await start(), await start(NAMESPACE)];
    expect(await first.take()).toBe('held\n');
    first.signal('SIGSTOP');
    expect(await second.take()).toMatch(/in use by process \d+:/);
    first.signal('SIGCONT');
    expect(await second.take()).toMatch(/in use by process \d+:/);
    await first.kill();
    expect(await second.take()).toBe('held\n');
    expect(first.output).not.toContain('lost');
  });

  it('does not depend on clocks', async () => {
    const jumping = (hours: number) => ({
      ...process.env,
      LD_PRELOAD: findFaketime() ?? '',
      FAKETIME: `${hours < 0 ? '' : '+'}${hours * 3600}`,
      FAKETIME_DONT_FAKE_MONOTONIC: '1',
    });
    const holder = await start([], jumping(-48));
    expect(await holder.take()).toBe('held\n');
    for (const hours of [48, -96]) {
      const other = await start([], jumping(hours));
      expect(await other.take()).toMatch(/in use by process \d+:/);
    }
  });

  it('has one holder if many processes take over the same lock at once', async () => {
    for (let round = 0; round < ROUNDS; round++) {
      const left = await start();
      expect(await left.take()).toBe('held\n');
      await left.kill();
      const all = await Promise.all(Array.from({ length: AT_ONCE }, () => start()));
      const moment = Date.now() + 30;
      const outcomes = await Promise.all(all.map((taker) => taker.take(moment)));
      expect(outcomes.filter((outcome) => outcome.includes('held'))).toHaveLength(1);
      await Promise.all(all.map((taker) => taker.kill()));
    }
  });

  it('is respected if a process of an earlier release holds it', async () => {
    const holder = spawnBound(process.execPath, ['-e', 'setInterval(() => {}, 1000)']);
    await once(holder, 'spawn');
    writeFileSync(`${directory}.lock`, `${holder.pid} 1 boot`);
    await expect(DirectoryLock.take(directory, NOTHING)).rejects.toThrow(`in use by process ${holder.pid}:`);
    holder.kill('SIGKILL');
    await once(holder, 'exit');
    (await DirectoryLock.take(directory, NOTHING)).release();
    expect(existsSync(`${directory}.lock`)).toBe(false);
  });

  it.each([
    ['a process that has ended', () => `${spawnSync('true').pid} 1 boot`],
    ['nothing', () => ''],
    ['nonsense', () => 'nonsense'],
    ['process 0, which would be this one', () => '0 1 boot'],
  ])('is taken from an earlier release that left %s', async (_, contents) => {
    writeFileSync(`${directory}.lock`, contents());
    (await DirectoryLock.take(directory, NOTHING)).release();
  });

  describe('of a process on another machine', () => {
    /** Simulates a holder on another machine: nothing answers on its socket, and only the file shows its heartbeats. */
    async function leave(): Promise<void> {
      const taker = await start();
      expect(await taker.take()).toBe('held\n');
      const holder = readHolder(directory);
      await taker.kill();
      if (holder !== null)
        writeHolder(directory, {
          ...holder,
          machine: 'another',
          host: 'elsewhere',
        });
    }

    it('is held if there is a heartbeat, independent of the clock there', async () => {
      await leave();
      let hours = 0;
      const signs = setInterval(() => {
        const at = new Date(Date.now() - ++hours * 3_600_000);
        utimesSync(join(directory, HOLDER_FILE), at, at);
      }, 1000);
      try {
        const other = await start();
        expect(await other.take()).toMatch(
          /waiting 15 seconds for a sign of life\n.* in use by process \d+ on elsewhere:/s,
        );
      } finally {
        clearInterval(signs);
      }
    });

    it('is taken over if there is none, and the log says what it waits for', async () => {
      await leave();
      const other = await start();
      expect(await other.take()).toMatch(
        /was in use by process \d+ on elsewhere, .* waiting 15 seconds[^\n]+\nheld\n$/s,
      );
    });

    it('ends a former holder that was paused, before it does anything else', async () => {
      const stopped = await start();
      expect(await stopped.take()).toBe('held\n');
      stopped.signal('SIGSTOP');
      const holder = readHolder(directory);
      if (holder === null) throw new Error('There is no holder');
      writeHolder(directory, { ...holder, machine: 'another' });
      // The socket of a process on another machine cannot be reached.
      const dead = await start();
      const lock = join(directory, LOCK_FILE);
      renameSync(lock, `${lock}.away`);
      writeFileSync(lock, '');
      expect(await dead.take()).toMatch(/held\n$/);
      stopped.signal('SIGCONT');
      expect(await stopped.end()).toBe(3);
      expect(stopped.output).toMatch(/lost\n$/);
      expect(readFileSync(join(directory, HOLDER_FILE), 'utf8')).not.toContain(holder.id);
    });
  });

  it('reports a directory that cannot be created', async () => {
    writeFileSync(directory, 'a file');
    await expect(DirectoryLock.take(directory, NOTHING)).rejects.toThrow(DatabaseStartError);
    await expect(DirectoryLock.take(join(directory, 'below'), NOTHING)).rejects.toThrow(/cannot be created/);
  });
});
