import { modelJsonSchema } from '../../src/config/model/model.schema.js';
import { modelSetting } from '../support/builders/model-file.js';
import { makeUnusable, UNUSABLE_MODELS } from '../support/builders/unusable-models.js';
import { runCommand, TestProcess } from '../support/clients/command.js';

describe('a model file that cannot be used', () => {
  const COMMANDS = [
    [],
    ...[['serve'], ['sync'], ['schema'], ['schema', '--check'], ['model'], ['check']],
    ...[['service-account', 'list'], ['access-log']],
  ];
  const table = UNUSABLE_MODELS.map(
    (each, index) => [each[0], COMMANDS[index % COMMANDS.length] ?? [], each] as const,
  );

  it.each(table)('is explained: %s, by %j', async (_, args, unusable) => {
    const { file, problem } = makeUnusable(unusable);
    const settings = { DIRECTORY_MODEL: file };
    const { code, stdout, stderr } = await TestProcess.start(
      args.length === 0 ? 'main' : 'cli',
      args,
      settings,
    ).end();
    const output = args[0] === 'check' ? stdout : stderr;
    const expected = args[0] === 'check' ? `PROBLEM  settings: ${problem}\n` : problem;
    expect(code).toBe(2);
    expect(output).toContain(expected);
    expect(stdout + stderr).not.toMatch(/\n {4}at |node_modules|RangeError/);
  });

  it('is not needed for a proposal and for the schema of editors', async () => {
    const settings = modelSetting('users: 1');
    const [suggested, schema] = await Promise.all([
      runCommand(['model', '--suggest'], settings),
      runCommand(['model', '--json-schema'], settings),
    ]);
    expect([suggested.code, suggested.stdout.slice(0, 10)]).toEqual([0, '# A model ']);
    expect([schema.code, JSON.parse(schema.stdout)]).toEqual([0, modelJsonSchema()]);
  });
});
