import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import { MIGRATIONS } from '../../src/database/migrations/migrations.js';
import { createDatabase, type TestDatabase } from '../support/servers/store.js';

describe("TypeORM's command line with ormconfig.ts", () => {
  let database: TestDatabase;

  beforeAll(async () => {
    database = await createDatabase();
  });
  afterAll(() => database.drop());

  async function run(...command: string[]): Promise<{ code: number; output: string }> {
    const started = spawn('npm', ['run', '--silent', 'typeorm', '--', ...command, '-d', 'ormconfig.ts'], {
      env: { ...process.env, DATABASE_URL: database.url, LOG_LEVEL: 'fatal' },
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    const ended = once(started, 'exit') as Promise<[number]>;
    const output = await text(started.stdout);
    const [code] = await ended;
    return { code, output };
  }

  it('shows every migration as applied', async () => {
    const { code, output } = await run('migration:show');
    expect(code).toBe(0);
    const applied = [...output.matchAll(/\[X\] \d+ (\w+)/g)].map(([, name]) => name);
    expect(applied).toEqual(MIGRATIONS.map(({ name }) => name));
    expect(output).not.toContain('[ ]');
  });
});
