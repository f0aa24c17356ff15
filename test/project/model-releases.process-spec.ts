import { readFileSync, writeFileSync } from 'node:fs';
import { modelSetting } from '../support/builders/model-file.js';
import { runCommand } from '../support/clients/command.js';

function textLike(pattern: RegExp): string {
  return expect.stringMatching(pattern) as string;
}

describe('directory schema with a model file', () => {
  const jobTitle = (type: string) =>
    `    jobTitle: {attribute: title, type: ${type}, description: The position.}`;
  const manager =
    '    manager: {attribute: manager, type: User, reverse: reports, description: The manager.}';
  const modelOf = (...fields: string[]) => ['users:', '  fields:', ...fields].join('\n');
  const settings = modelSetting(modelOf(jobTitle('String'), manager));
  const file = settings.DIRECTORY_MODEL;
  const schemaFile = file.replace('.yaml', '.graphql');
  const runWith = (...args: string[]) => runCommand(['schema', ...args], settings);

  it('writes the schema beside the model file, prints the same, and accepts it', async () => {
    expect((await runWith('--write')).code).toBe(0);
    const printed = await runWith();
    expect(printed.stdout).toContain('jobTitle: String\n');
    expect(printed.stdout).toBe(readFileSync(schemaFile, 'utf8'));
    expect(await runWith('--check')).toMatchObject({ code: 0, stdout: '', stderr: '' });
  });

  it('rejects changes that break clients', async () => {
    writeFileSync(file, modelOf(jobTitle('Int'), manager.replace(' reverse: reports,', '')));
    const { code, stdout, stderr } = await runWith('--check');
    expect([code, stdout]).toEqual([2, '']);
    const lines = stderr.trimEnd().split('\n');
    expect(lines).toContain('error: User.jobTitle changed type from String to Int.');
    expect(lines).toContain('error: User.reports was removed.');
    expect(lines).toContain('error: Person.jobTitle changed type from String to Int.');
    expect(lines.at(-2)).toBe(`error: These changes break clients of ${schemaFile}`);
    expect(lines.at(-1)).toMatch(/^ {7}→ Keep what it has/);
    expect((await runWith('--check', '--write')).code).toBe(2);
    const { code: same, stdout: object } = await runWith('--against', schemaFile, '--json');
    const breakingChanges = lines.slice(0, -2).map((line) => line.replace('error: ', ''));
    expect([same, JSON.parse(object)]).toEqual([2, { schema: textLike(/jobTitle: Int/), breakingChanges }]);
  });
});
