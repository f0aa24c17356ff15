import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const { version } = JSON.parse(readFileSync('package.json', 'utf8')) as { version: string };

let work: string;

beforeAll(() => {
  work = mkdtempSync(join(tmpdir(), 'build-'));
});

afterAll(() => {
  rmSync(work, { recursive: true });
});

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

  it('contains the commit of the environment if there is no history', () => {
    expect(writeBuild({ BUILD_COMMIT: 'abc1234' })).toEqual({ version, commit: 'abc1234' });
  });
});
