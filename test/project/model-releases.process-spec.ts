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

  it('rejects changes that break clients, at their places in the model file', async () => {
    writeFileSync(file, modelOf(jobTitle('Int'), manager.replace(' reverse: reports,', '')));
    const { code, stdout, stderr } = await runWith('--check');
    expect([code, stdout]).toEqual([2, '']);
    const lines = stderr.trimEnd().split('\n');
    expect(lines).toContain(`${file}:3:5: Field 'User.jobTitle' changed type from 'String' to 'Int'`);
    expect(lines).toContain(`${file}:2:3: Field 'reports' was removed from object type 'User'`);
    // Every change comes from the file: also that of an interface.
    expect(lines.slice(0, -1).filter((line) => !line.startsWith(`${file}:`))).toEqual([]);
    expect(lines).toContain(`${file}:3:5: Field 'Person.jobTitle' changed type from 'String' to 'Int'`);
    expect(lines.at(-1)).toContain(`break clients of ${schemaFile}.`);
    expect((await runWith('--check', '--write')).code).toBe(2);
    const { code: same, stdout: object } = await runWith('--against', schemaFile, '--json');
    expect([same, JSON.parse(object)]).toEqual([
      2,
      { schema: textLike(/jobTitle: Int/), breakingChanges: lines.slice(0, -1) },
    ]);
  });
});
