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

  it('names the command that writes the file', async () => {
    const { code, stderr } = await runWith('--check');
    expect([code, stderr]).toEqual([
      2,
      `${schemaFile} does not exist. «directory schema --write» records the schema of a model\n`,
    ]);
  });

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

  it('rejects a field that needs another scope', async () => {
    writeFileSync(file, modelOf(jobTitle('String, access: directory'), manager));
    const { code, stderr } = await runWith('--check');
    expect(code).toBe(2);
    expect(stderr).toContain(`${file}:3:5: Field 'User.jobTitle' needs the scope 'directory'\n`);
  });

  it('rejects what fewer viewers see, filters that need another scope, and types that are gone, each with a place', async () => {
    const office = (options: string, type = 'String') =>
      `    office: {attribute: roomNumber, type: ${type}, description: The office., ${options}}`;
    const active = '    works: {attribute: title, type: Boolean, description: Works., filterable: true}';
    const before = modelOf(office('filterable: true'), active, jobTitle('String'));
    const other = modelSetting(before);
    const compared = other.DIRECTORY_MODEL;
    const check = (...args: string[]) => runCommand(['schema', ...args], other);
    expect((await check('--write')).code).toBe(0);
    writeFileSync(
      compared,
      modelOf(office('filterable: true, access: directory, visibleTo: groupAdmins'), jobTitle('String')),
    );
    const narrowed = await check('--check');
    const lines = narrowed.stderr.trimEnd().split('\n');
    expect(lines).toEqual(
      expect.arrayContaining([
        ...['User', 'Profile', 'Person', 'UserFilter'].map(
          (type) => `${compared}:3:5: Field '${type}.office' needs the scope 'directory'`,
        ),
        ...['User', 'Profile', 'Person', 'UserFilter'].map(
          (type) => `${compared}:3:5: Field '${type}.office' is visible only to 'groupAdmins'`,
        ),
        `${compared}:2:3: Type 'BooleanFilter' was removed`,
      ]),
    );
    expect(lines.slice(0, -1).filter((line) => !line.startsWith(`${compared}:`))).toEqual([]);
    const printed = await check();
    expect(printed.stdout).toContain(
      'office: String @access(scopes: ["directory"]) @visibleTo(audience: "groupAdmins")\n',
    );
  });

  it('accepts additions', async () => {
    const phone = '    phone: {attribute: telephoneNumber, type: String, description: The number.}';
    writeFileSync(file, modelOf(phone, jobTitle('String'), manager));
    expect(await runWith('--check')).toMatchObject({ code: 0, stdout: '', stderr: '' });
  });

  it('accepts the removal of a deprecated field', async () => {
    const others = [jobTitle('String'), manager];
    const fields = (deprecated: string) =>
      ['String, filterable: true, editable: true', 'User, reverse: deputyOf'].map(
        (type, index) => `    old${index}: {attribute: pager, type: ${type}, description: Old.${deprecated}}`,
      );
    const checkRemoval = async (deprecated: string) => {
      writeFileSync(file, modelOf(...fields(deprecated), ...others));
      expect((await runWith('--write')).code).toBe(0);
      writeFileSync(file, modelOf(...others));
      return runWith('--check');
    };
    expect(await checkRemoval(', deprecated: Use jobTitle.')).toMatchObject({ code: 0, stderr: '' });
    const early = await checkRemoval('');
    expect([early.code, early.stderr]).toEqual([
      2,
      textLike(/Field 'old0' .*was removed from object type 'User'/),
    ]);
  });
});
