import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';

describe('the generated types of the club page', () => {
  it('are those of the schema and of its operations', () => {
    expect(execFileSync(process.execPath, ['examples/club-page/generate.mjs', '--check']).toString()).toBe(
      '',
    );
  });
});

describe('the script', () => {
  it('has ten lines, and one that says what it is for', () => {
    const lines = readFileSync('examples/script/emails.mjs', 'utf8').trimEnd().split('\n');
    expect(lines.filter((line) => !line.startsWith('//'))).toHaveLength(10);
    expect(lines).toHaveLength(11);
  });
});
