import { runCommand, type TestProcess } from './support/command.js';
import { createDatabase, type TestDatabase } from './support/store.js';

describe('directory service-account', () => {
  let database: TestDatabase;

  beforeAll(async () => {
    database = await createDatabase();
  });

  afterAll(() => database.drop());

  const run = (...args: string[]) => runCommand(args, { DATABASE_URL: database.url });
  const create = (...more: string[]) =>
    run(
      'service-account',
      'create',
      '--id',
      'library',
      '--name',
      'Library',
      '--scopes',
      'read,directory',
      ...more,
    );
  const lastLine = ({ stdout }: TestProcess) => stdout.trimEnd().split('\n').at(-1) ?? '';
  const decode = (token: string) => Buffer.from(token, 'base64').toString();

  it('makes an account whose token is the last line', async () => {
    const made = await create('--expires', '90d');
    expect(made.code).toBe(0);
    expect(decode(lastLine(made))).toMatch(/^library:dirsa_[\w-]{43}$/);
  });

  it('fails where the id is taken, and calls an id that is none wrong use', async () => {
    const taken = await create();
    expect([taken.code, taken.stdout, taken.stderr]).toEqual([
      1,
      '',
      'A service account with this id exists already\n',
    ]);
    const wrong = await run('service-account', 'create', '--id', 'No Id', '--name', 'x', '--scopes', 'read');
    expect(wrong.code).toBe(2);
    expect(wrong.stderr).toMatch(/^The id of a service account has [^\n]+\n$/);
  });

  it('lists accounts without a secret', async () => {
    expect(JSON.parse((await run('service-account', 'list', '--json')).stdout)).toEqual([
      expect.objectContaining({
        id: 'library',
        name: 'Library',
        scopes: ['read', 'directory'],
        lastUsedAt: null,
      }),
    ]);
    expect((await run('service-account', 'list')).stdout).toMatch(
      /^library {2}Library {2}read directory {2}expires 20\S+ {2}never used\n$/,
    );
  });

  it('gives a new token, ends the account, and then knows it no more', async () => {
    const rotated = await run('service-account', 'rotate', 'library', '--json');
    expect(rotated.code).toBe(0);
    expect(decode((JSON.parse(rotated.stdout) as { token: string }).token)).toMatch(/^library:dirsa_/);

    expect((await run('service-account', 'revoke', 'library')).code).toBe(0);
    expect((await run('service-account', 'list')).stdout.trim()).toBe('');
    const again = await run('service-account', 'rotate', 'library');
    expect([again.code, again.stderr]).toEqual([1, 'There is no service account «library»\n']);
  });
});
