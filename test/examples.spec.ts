import { execFileSync } from 'node:child_process';

describe('the generated types of the club page', () => {
  it('are those of the schema and of its operations', () => {
    expect(execFileSync(process.execPath, ['examples/club-page/generate.mjs', '--check']).toString()).toBe(
      '',
    );
  });
});
