import { execFileSync } from 'node:child_process';

describe('the generated types of the club page', () => {
  it('match the schema and its operations', () => {
    expect(execFileSync(process.execPath, ['examples/club-page/generate.mjs', '--check']).toString()).toBe(
      '',
    );
  });
});
