import { mkdtempSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Environment } from '../../src/config/config.js';
import { runCommand, TestProcess } from '../support/clients/command.js';
import { buildLdif } from '../support/builders/directory.js';
import { findFreePort } from '../support/servers/postgres.mjs';
import { createDatabase, type TestDatabase, variable } from '../support/servers/store.js';

/** commands.postgres-spec.ts tests all their behavior on PostgreSQL. */
describe('the commands on an embedded database', () => {
  let database: TestDatabase;
  let environment: Environment;

  beforeAll(async () => {
    const file = join(mkdtempSync(join(variable('TEST_WORK_DIRECTORY'), 'commands-')), 'directory.ldif');
    writeFileSync(file, buildLdif([{ id: 'anna' }, { id: 'ben' }], [{ id: 'club', members: ['anna'] }]));
    database = await createDatabase();
    environment = {
      PORT: String(await findFreePort()),
      DATABASE_URL: database.url,
      DIRECTORY_URL: `file:${file}`,
    };
  });

  afterAll(() => database.drop());

  it('synchronize the directory, and report no problem', async () => {
    const planned = await runCommand(['sync', '--dry-run'], environment);
    expect([planned.code, planned.stdout]).toEqual([0, expect.stringMatching(/^people \+2 ~0 -0/)]);
    expect((await runCommand(['sync'], environment)).stdout).toMatch(/^Revision 1: people \+2/);
    const checked = await runCommand(['check'], environment);
    expect([checked.code, checked.stdout]).toEqual([0, expect.not.stringContaining('PROBLEM')]);
    expect(checked.stdout).toMatch(/\nok {7}mirror: IDLE, as of 20/);
  });

  it('fail while a service uses the database', async () => {
    const service = TestProcess.start('cli', ['serve'], environment);
    await service.untilPrinted(/Ready at/);
    const beside = await runCommand(['sync'], environment);
    expect((await service.kill('SIGTERM')).code).toBe(0);
    expect([beside.code, beside.stdout]).toEqual([1, '']);
    expect(beside.stderr).toMatch(/^The database directory \S+ is in use by process \d+: [^\n]+\n$/);
  });
});
