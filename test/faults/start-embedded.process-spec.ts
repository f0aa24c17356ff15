import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { runCommand, type TestProcess } from '../support/clients/command.js';
import { variable } from '../support/servers/store.js';

describe('an embedded database directory that cannot be opened', () => {
  let work: string;
  let directory: string;

  beforeEach(() => {
    work = mkdtempSync(join(tmpdir(), 'embedded-'));
    directory = join(work, 'mirror');
  });

  afterEach(() => {
    rmSync(work, { recursive: true });
  });

  function open(): Promise<TestProcess> {
    return runCommand(['service-account', 'list'], { DATABASE_URL: `pglite:${directory}` });
  }

  async function expectOneLine(message: RegExp): Promise<void> {
    const { code, stdout, stderr } = await open();
    expect([code, stdout]).toEqual([1, '']);
    expect(stderr).toMatch(message);
    expect(stderr.trimEnd().split('\n')).toHaveLength(1);
    expect(existsSync(`${directory}/.service.lock`)).toBe(false);
  }

  it('because it contains other files stays unchanged', async () => {
    mkdirSync(directory);
    writeFileSync(join(directory, 'holiday.jpg'), 'a picture');
    await expectOneLine(/does not contain a database/);
    expect(readdirSync(directory)).toEqual(['holiday.jpg']);
  });

  it('because it is a file is reported', async () => {
    writeFileSync(directory, '');
    await expectOneLine(/cannot be created/);
  });

  it('because it is of another version is reported with the version', async () => {
    mkdirSync(directory);
    writeFileSync(join(directory, 'PG_VERSION'), '15\n');
    await expectOneLine(/is of PostgreSQL 15, and this is 18/);
  });

  it('because only its version file is left is reported as possibly damaged', async () => {
    mkdirSync(join(directory, 'base'), { recursive: true });
    writeFileSync(join(directory, 'PG_VERSION'), '18\n');
    await expectOneLine(/it may be damaged. .* move it away, and the service creates a new one/);
  });

  it('because its files are truncated is reported as possibly damaged', async () => {
    cpSync(variable('TEST_PGLITE_TEMPLATE'), directory, { recursive: true });
    truncateSync(join(directory, 'global', 'pg_control'), 100);
    await expectOneLine(/it may be damaged/);
  });

  it('because its creation was interrupted is created again', async () => {
    mkdirSync(directory);
    writeFileSync(`${directory}.unfinished`, '');
    writeFileSync(join(directory, 'PG_VERSION'), '18\n');
    expect((await open()).code).toBe(0);
    expect(existsSync(`${directory}.unfinished`)).toBe(false);
  });
});
