import { execFileSync, spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const { version } = JSON.parse(readFileSync('package.json', 'utf8')) as { version: string };

let work: string;

beforeAll(() => {
  work = mkdtempSync(join(tmpdir(), 'build-'));
});

afterAll(() => rmSync(work, { recursive: true }));

function writeBuild(environment: Record<string, string>): unknown {
  const file = join(work, 'build.json');
  execFileSync(process.execPath, ['scripts/write-build.mjs', file], {
    env: { PATH: process.env.PATH, ...environment },
  });
  return JSON.parse(readFileSync(file, 'utf8'));
}

describe('the recorded build', () => {
  it('contains the version of the package and the commit of the checkout', () => {
    const commit = execFileSync('git', ['rev-parse', 'HEAD'], { encoding: 'utf8' }).trim();
    expect(writeBuild({})).toEqual({ version, commit });
  });
});

describe('the program `directory`', () => {
  it('runs in every folder, through links, and prints JSON alone', () => {
    // The files of the image: without scripts/, so that nothing is compiled.
    const image = join(work, 'image');
    mkdirSync(image);
    for (const path of ['bin', 'directory', 'package.json'])
      cpSync(path, join(image, path), { recursive: true, verbatimSymlinks: true });
    symlinkSync(join(process.cwd(), 'dist'), join(image, 'dist'));
    symlinkSync(join(image, 'directory'), join(work, 'linked'));
    for (const program of [join(image, 'directory'), join(image, 'bin/directory'), join(work, 'linked')]) {
      const { status, stdout } = spawnSync(program, ['nothing', '--json'], { cwd: work, encoding: 'utf8' });
      expect([status, JSON.parse(stdout)]).toEqual([
        2,
        { error: expect.objectContaining({ code: 'WRONG_USE' }) as unknown },
      ]);
    }
  });
});
