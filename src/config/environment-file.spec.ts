import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { findTooLate, loadEnvironmentFile } from './environment-file.js';

describe('a variable of Node.js in .env', () => {
  const before = process.cwd();
  const directory = mkdtempSync(join(tmpdir(), 'environment-'));
  const forget = (names: readonly string[]) => {
    for (const name of names) Reflect.deleteProperty(process.env, name);
  };

  beforeAll(() => {
    process.chdir(directory);
  });

  afterAll(() => {
    process.chdir(before);
    rmSync(directory, { recursive: true });
  });

  function warningsOf(text: string): string[] {
    writeFileSync('.env', text);
    loadEnvironmentFile();
    const found = findTooLate();
    forget([...text.matchAll(/^\w+/gm)].map(([name]) => name));
    return found;
  }

  // A machine can have the others of these in its environment, which takes precedence.
  it.each(['NODE_USE_SYSTEM_CA'])('causes a warning that names the settings for it: %s', (name) => {
    forget([name]);
    expect(warningsOf(`${name}=/etc/ssl/own.pem\n`)).toEqual([
      `${name} in .env has no effect: Node.js reads it before it reads this file. Set it in the environment of the service, or AUTH_CA_FILE, DIRECTORY_CA_FILE or REDIS_CA_FILE here`,
    ]);
  });

  it.each(['NODE_OPTIONS', 'UV_THREADPOOL_SIZE', 'OPENSSL_CONF', 'LD_PRELOAD'])(
    'causes a warning: %s',
    (name) => {
      forget([name]);
      expect(warningsOf(`${name}=x\n`)).toEqual([expect.stringMatching(`^${name} in .env has no effect: `)]);
    },
  );

  it('causes none if the environment has it, too, if it is empty, or if it has an effect', () => {
    process.env['UV_THREADPOOL_SIZE'] = '8';
    forget(['NODE_OPTIONS']);
    expect(warningsOf('UV_THREADPOOL_SIZE=16\nNODE_OPTIONS=\nPORT_OF_TEST=3000\n')).toEqual([]);
  });
});
