import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseStartError } from './database-start.error.js';
import { lockDirectory } from './directory-lock.js';

const ROUNDS = 5;
const AT_ONCE = 6;
/** Takes the lock at the moment that it is told, says what came of it, and lives on. */
const TAKE = `
  import('${join(__dirname, '../../dist/database/directory-lock.js')}').then(({ lockDirectory }) => {
    console.log('here');
    process.stdin.on('data', (moment) => {
      while (Date.now() < Number(moment));
      try {
        lockDirectory(process.argv[1]);
        console.log('held');
      } catch (error) {
        console.log(error.message);
      }
    });
  });`;

describe('the lock of a database directory', () => {
  let parent: string;
  let directory: string;
  beforeEach(() => {
    parent = mkdtempSync(join(tmpdir(), 'lock-'));
    directory = join(parent, 'mirror');
  });
  afterEach(() => {
    rmSync(parent, { recursive: true });
  });

  it('makes the directory, for this user only, and stands beside it', () => {
    const unlock = lockDirectory(directory);
    expect(existsSync(directory)).toBe(true);
    expect(readFileSync(`${directory}.lock`, 'utf8').split(' ')[0]).toBe(String(process.pid));
    unlock();
  });

  it('is refused as long as a living process holds it, and named after that', () => {
    const unlock = lockDirectory(directory);
    expect(() => lockDirectory(directory)).toThrow(DatabaseStartError);
    expect(() => lockDirectory(directory)).toThrow(`is in use by process ${process.pid}:`);
    unlock();
    lockDirectory(directory)();
    expect(existsSync(`${directory}.lock`)).toBe(false);
  });

  it('is respected when another process holds it', async () => {
    const holder = spawn(process.execPath, ['-e', 'setInterval(() => {}, 1000)']);
    await once(holder, 'spawn');
    writeFileSync(`${directory}.lock`, describeProcess(holder.pid ?? 0));
    expect(() => lockDirectory(directory)).toThrow(`is in use by process ${holder.pid ?? 0}:`);
    holder.kill('SIGKILL');
    await once(holder, 'exit');
    lockDirectory(directory)();
  });

  it.each([
    ['of a process that has ended', () => `${spawnSync('true').pid} 1 boot`],
    ['of a process whose number somebody else has by now', () => `${process.pid} 1 another-boot`],
    ['that is empty', () => ''],
    ['that holds nonsense', () => 'nonsense'],
    ['of process 0, which would be ourselves', () => '0 1 boot'],
  ])('is taken over from a lock %s', (_, contents) => {
    writeFileSync(`${directory}.lock`, contents());
    const unlock = lockDirectory(directory);
    expect(readFileSync(`${directory}.lock`, 'utf8').split(' ')[0]).toBe(String(process.pid));
    unlock();
  });

  it('has one holder, of many who take over the same at once', async () => {
    for (let round = 0; round < ROUNDS; round++) {
      writeFileSync(`${directory}.lock`, `${spawnSync('true').pid} 1 boot`);
      const children = Array.from({ length: AT_ONCE }, () =>
        spawn(process.execPath, ['-e', TAKE, directory], { stdio: ['pipe', 'pipe', 'inherit'] }),
      );
      await Promise.all(children.map(({ stdout }) => once(stdout, 'data')));
      const moment = String(Date.now() + 30);
      const outcomes = children.map(async ({ stdin, stdout }) => {
        stdin.write(`${moment}\n`);
        const [outcome] = (await once(stdout, 'data')) as [Buffer];
        return outcome.toString();
      });
      expect((await Promise.all(outcomes)).filter((outcome) => outcome.includes('held'))).toHaveLength(1);
      for (const child of children) child.kill('SIGKILL');
    }
  });

  it('says so when the directory cannot be made', () => {
    writeFileSync(directory, 'a file');
    expect(() => lockDirectory(directory)).toThrow(DatabaseStartError);
    expect(() => lockDirectory(join(directory, 'below'))).toThrow(/cannot be made/);
  });
});

/** A process as its own lock would describe it: number, start time and boot (proc(5)). */
function describeProcess(pid: number): string {
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
  const start = stat.slice(stat.lastIndexOf(')') + 2).split(' ')[19] ?? '';
  return `${pid} ${start} ${readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim()}`;
}
