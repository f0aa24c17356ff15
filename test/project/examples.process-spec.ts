import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';

describe('the generated types of the club page', () => {
  it('match the schema and its operations', () => {
    expect(execFileSync(process.execPath, ['examples/club-page/generate.mjs', '--check']).toString()).toBe(
      '',
    );
  });
});

describe('the script', () => {
  it('has at most 25 lines with comments', () => {
    const lines = readFileSync('examples/script/emails.mjs', 'utf8').trimEnd().split('\n');
    expect(lines.filter((line) => line !== '').length).toBeLessThanOrEqual(25);
  });
});
