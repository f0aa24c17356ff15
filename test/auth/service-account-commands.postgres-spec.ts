import pg from 'pg';
import { insertObject } from '../support/builders/first-revision.js';
import { runCommand, type TestProcess } from '../support/clients/command.js';
import { createDatabase, type TestDatabase } from '../support/servers/store.js';

describe('directory service-account', () => {
  let database: TestDatabase;

  beforeAll(async () => {
    database = await createDatabase();
  });

  afterAll(() => database.drop());

  const run = (...args: string[]) => runCommand(args, { DATABASE_URL: database.url });
  const CREATE = 'service-account create --id library --name Library --scopes read,directory'.split(' ');
  const create = (...more: string[]) => run(...CREATE, ...more);
  const lastLine = ({ stdout }: TestProcess) => stdout.trimEnd().split('\n').at(-1) ?? '';
  const decode = (token: string) => Buffer.from(token, 'base64').toString();

  it('creates an account, and prints its token in the last line', async () => {
    const about = ['--contact', ' it@example.org ', '--purpose', 'The year book'];
    const made = await create('--expires', '90d', ...about);
    expect(made.code).toBe(0);
    expect(decode(lastLine(made))).toMatch(/^library:dirsa_[\w-]{43}$/);
  });

  it('fails if the id is in use, and reports an invalid id as wrong usage', async () => {
    const taken = await create();
    expect([taken.code, taken.stdout, taken.stderr]).toEqual([
      1,
      '',
      'error: A service account with this id exists already\n',
    ]);
    const wrong = await run('service-account', 'create', '--id', 'No Id', '--name', 'x', '--scopes', 'read');
    expect(wrong.code).toBe(2);
    expect(wrong.stderr).toMatch(/^error: The id of a service account has [^\n]+\n$/);
  });

  it('shows an account, and completes its id', async () => {
    const shown = await run('service-account', 'show', 'library');
    expect([shown.code, shown.stdout]).toEqual([
      0,
      expect.stringMatching(
        /^id {11}library\nname {9}Library\n[^]*\nscopes {7}read, directory\n[^]*\ngroups {7}all\ntokens {7}1\n/,
      ),
    ]);
    const listed = JSON.parse((await run('service-account', 'list', '--json')).stdout) as object[];
    expect(JSON.parse((await run('service-account', 'show', 'library', '--json')).stdout)).toEqual(listed[0]);
    const unknown = await run('service-account', 'show', 'nothing');
    expect([unknown.code, unknown.stderr]).toEqual([1, 'error: There is no service account «nothing»\n']);
    const { stdout } = await run('complete', '--', 'service-account', 'show', '');
    expect(stdout.split('\n')).toContain('library\t');
  });

  it('changes an account, and nothing that is not named', async () => {
    const read = async () => {
      const [account] = JSON.parse((await run('service-account', 'list', '--json')).stdout) as object[];
      return account;
    };
    const before = await read();
    const more = ['--name', 'The Library', '--scopes', 'read', '--purpose', 'Loans', '--expires', 'never'];
    const updated = await run('service-account', 'update', 'library', ...more, '--json');
    const expected = { ...before, name: 'The Library', scopes: ['read'], purpose: 'Loans', expiresAt: null };
    expect([updated.code, await read()]).toEqual([0, expected]);
    const nothing = await run('service-account', 'update', 'library');
    expect([nothing.code, nothing.stderr]).toEqual([2, expect.stringContaining('Nothing would change')]);
    const ending = await run('service-account', 'update', 'library', '--expires', '0d');
    expect([ending.code, ending.stderr]).toEqual([2, expect.stringContaining('service-account revoke')]);
    const unknown = await run('service-account', 'update', 'nothing', '--scopes', 'read');
    expect([unknown.code, unknown.stderr]).toEqual([1, 'error: There is no service account «nothing»\n']);
  });

  it('rotates the token, revokes the account, and then does not find it', async () => {
    const rotated = await run('service-account', 'rotate', 'library', '--json');
    expect(rotated.code).toBe(0);
    expect(decode((JSON.parse(rotated.stdout) as { token: string }).token)).toMatch(/^library:dirsa_/);

    const revoked = await run('service-account', 'revoke', 'library', '--json');
    expect([revoked.code, JSON.parse(revoked.stdout)]).toEqual([
      0,
      { id: 'library', database: expect.stringMatching(/^database «\w+» at 127\.0\.0\.1:\d+$/) as string },
    ]);
    expect((await run('service-account', 'list', '--json')).stdout.trim()).toBe('[]');
    const again = await run('service-account', 'rotate', 'library');
    expect([again.code, again.stderr]).toEqual([1, 'error: There is no service account «library»\n']);
  });

  it('requires an owner for an account in production', async () => {
    const args = 'service-account create --id kiosk --name x --scopes read --contact x --json'.split(' ');
    const production = { DATABASE_URL: database.url, NODE_ENV: 'production', ALLOW_EMBEDDED: 'true' };
    const refused = await runCommand(args, production);
    expect([refused.code, JSON.parse(refused.stdout)]).toEqual([
      2,
      {
        error: expect.objectContaining({
          code: 'BAD_USER_INPUT',
          message: expect.stringMatching(/^--purpose is needed/) as string,
        }) as object,
      },
    ]);
  });

  it('limits an account to groups, which keep it when they are renamed', async () => {
    const client = new pg.Client(database.url);
    await client.connect();
    try {
      const query = (text: string, values: unknown[]) => client.query(text, values);
      for (const id of ['Chess-Club', 'choir']) await insertObject({ query }, 'groups', id);
      const about = 'service-account create --id scoreboard --name Scores --scopes read'.split(' ');
      const unknown = await run(...about, '--groups', 'chess-club,orchestra');
      expect([unknown.code, unknown.stderr]).toEqual([2, expect.stringContaining('«orchestra»')]);
      const made = await run(...about, '--groups', 'chess-club, choir', '--json');
      expect(made.code).toBe(0);
      await client.query(
        `update groups set id = 'chess', id_folded = 'chess' where id_folded = 'chess-club'`,
      );
      const [account] = (
        JSON.parse((await run('service-account', 'list', '--json')).stdout) as {
          id: string;
          scopes: string[];
          groups: string[];
        }[]
      ).filter(({ id }) => id === 'scoreboard');
      expect(account?.scopes).toEqual(['read']);
      expect([...(account?.groups ?? [])].sort()).toEqual(['chess', 'choir']);
      expect((await run('service-account', 'list')).stdout).toMatch(
        /\nscoreboard .* (chess, choir|choir, chess) +Scores /,
      );
      const update = (...more: string[]) => run('service-account', 'update', 'scoreboard', ...more, '--json');
      expect((await update('--scopes', 'read,directory', '--groups', 'choir')).code).toBe(0);
      const listed = async () =>
        JSON.parse((await run('service-account', 'list', '--json')).stdout) as unknown;
      const changed = { id: 'scoreboard', scopes: ['read', 'directory'] };
      expect(await listed()).toContainEqual(expect.objectContaining({ ...changed, groups: ['choir'] }));
      expect((await update('--groups', 'choir', '--all-groups')).code).toBe(2);
      expect((await update('--all-groups')).code).toBe(0);
      expect(await listed()).toContainEqual(expect.objectContaining({ ...changed, groups: null }));
    } finally {
      await client.end();
    }
  });
});
