import pg from 'pg';
import { insertObject } from '../support/builders/first-revision.js';
import { modelSetting } from '../support/builders/model-file.js';
import { runCommand, type TestProcess } from '../support/clients/command.js';
import { createDatabase, type TestDatabase } from '../support/servers/store.js';

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
      'A service account with this id exists already\n',
    ]);
    const wrong = await run('service-account', 'create', '--id', 'No Id', '--name', 'x', '--scopes', 'read');
    expect(wrong.code).toBe(2);
    expect(wrong.stderr).toMatch(/^The id of a service account has [^\n]+\n$/);
  });

  it('lists accounts without secrets', async () => {
    expect(JSON.parse((await run('service-account', 'list', '--json')).stdout)).toEqual([
      expect.objectContaining({
        id: 'library',
        name: 'Library',
        scopes: ['read', 'directory'],
        contact: 'it@example.org',
        purpose: 'The year book',
        lastUsedAt: null,
        groups: null,
        tokens: 1,
        expiresSoon: false,
      }),
    ]);
    expect((await run('service-account', 'list')).stdout).toMatch(
      /^ {2}ID .*\n {2}library {2}never {6}20\S+ {2}1 {7}read directory\n {6}Library · it@example\.org · The year book\n$/,
    );
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
    expect([unknown.code, unknown.stderr]).toEqual([1, 'There is no service account «nothing»\n']);
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
    expect([again.code, again.stderr]).toEqual([1, 'There is no service account «library»\n']);
  });

  it('uses the id of a revoked account again only on request', async () => {
    const refused = await create();
    expect([refused.code, refused.stderr]).toEqual([
      1,
      'The service account «library» was revoked: --reuse creates another one with its id\n',
    ]);
    const about = ['--contact', 'it@example.org', '--purpose', 'The year book'];
    expect((await create('--reuse', ...about)).code).toBe(0);
    const taken = await create('--reuse');
    expect([taken.code, taken.stderr]).toEqual([1, 'A service account with this id exists already\n']);
    expect((await run('service-account', 'revoke', 'library')).code).toBe(0);
  });

  it('lists the access to personal data, with the owner of each account', async () => {
    const today = new Date().toISOString().slice(0, 10);
    const client = new pg.Client(database.url);
    await client.connect();
    await client.query(
      `insert into access_log values
         ($1, 'service-account:library', '', 'User.email', 2, 2400), ($1, 'client:app', 'anna', 'User.name', 1, 1),
         ($1::date - 40, 'client:app', 'ben', 'User.name', 1, 3), ($1::date - 400, 'client:old', '', 'User.name', 1, 1)`,
      [today],
    );
    await client.end();
    const text = await run('access-log', '--from', today);
    expect(text.stdout).toBe(
      `${today}  service-account:library\n  it@example.org\n  The year book\n` +
        `  User.email          2 requests      2,400 users\n\n` +
        `${today}  client:app for anna\n  User.name           1 request           1 person\n`.replace(
          / +\n/g,
          '\n',
        ),
    );
    const answer = JSON.parse((await run('access-log', '--principal', 'app', '--json')).stdout) as {
      counts: object[];
    };
    expect(answer.counts).toEqual([
      expect.objectContaining({ principal: 'client:app', actingFor: 'anna', field: 'User.name', users: 1 }),
      expect.objectContaining({ day: expect.not.stringMatching(today) as string, actingFor: 'ben' }),
    ]);
    const wrong = await run('access-log', '--from', '2030-02-30');
    expect([wrong.code, wrong.stdout]).toEqual([2, '']);
  });

  it('requires an owner for an account in production', async () => {
    const refused = await runCommand(
      [
        'service-account',
        'create',
        '--id',
        'kiosk',
        '--name',
        'x',
        '--scopes',
        'read',
        '--contact',
        'x',
        '--json',
      ],
      { DATABASE_URL: database.url, NODE_ENV: 'production', ALLOW_EMBEDDED: 'true' },
    );
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

  it('gives an account a scope of the model, and refuses an unknown one with the list', async () => {
    const createWith = (scopes: string, model: string) =>
      runCommand(
        ['service-account', 'create', '--id', 'phones', '--name', 'Phones', '--scopes', scopes, '--json'],
        { DATABASE_URL: database.url, ...modelSetting(model) },
      );
    const model = 'scopes: {contact: Phone numbers.}\n';
    for (const [refused, list] of [
      [await createWith('read,contacts', model), 'profile, read, directory, write, contact'],
      [await createWith('contact', '{}\n'), 'profile, read, directory, write'],
    ] as const) {
      expect(refused.code).toBe(2);
      expect(refused.stdout + refused.stderr).toContain(`Scopes are ${list}, separated by commas.`);
    }
    expect((await createWith('contact', model)).code).toBe(0);
    const listed = await runCommand(['service-account', 'list', '--json'], {
      DATABASE_URL: database.url,
      ...modelSetting(model),
    });
    expect(JSON.parse(listed.stdout)).toEqual(
      expect.arrayContaining([expect.objectContaining({ id: 'phones', scopes: ['contact'] })]),
    );
  });

  it('limits an account to groups, which keep it when they are renamed', async () => {
    const client = new pg.Client(database.url);
    await client.connect();
    try {
      const query = (text: string, values: unknown[]) => client.query(text, values);
      for (const id of ['Chess-Club', 'choir']) await insertObject({ query }, 'groups', id);
      const about = [
        'service-account',
        'create',
        '--id',
        'scoreboard',
        '--name',
        'Scores',
        '--scopes',
        'read',
      ];
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
        /Scores · only (chess, choir|choir, chess)/,
      );
      // A process of the previous release reads this column only.
      const readScopes = async () =>
        (await client.query(`select scopes from service_accounts where id = 'scoreboard'`)).rows as unknown;
      expect(await readScopes()).toEqual([{ scopes: [] }]);
      const update = (...more: string[]) => run('service-account', 'update', 'scoreboard', ...more, '--json');
      expect((await update('--scopes', 'read,directory', '--groups', 'choir')).code).toBe(0);
      expect(await readScopes()).toEqual([{ scopes: [] }]);
      expect(JSON.parse((await run('service-account', 'list', '--json')).stdout)).toContainEqual(
        expect.objectContaining({ id: 'scoreboard', scopes: ['read', 'directory'], groups: ['choir'] }),
      );
      expect((await update('--groups', 'choir', '--all-groups')).code).toBe(2);
      expect((await update('--all-groups')).code).toBe(0);
      expect(await readScopes()).toEqual([{ scopes: ['read', 'directory'] }]);
    } finally {
      await client.end();
    }
  });
});
