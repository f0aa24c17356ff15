import { execFile } from 'node:child_process';
import { mkdtempSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { buildLdif } from '../support/builders/directory.js';
import { TestService } from '../support/servers/service.js';
import { variable } from '../support/servers/store.js';

const execute = promisify(execFile);
const PROGRAMS = 'test/support/clients/caches';

interface Person {
  readonly id: string;
  readonly nodeId: string;
  readonly name: string;
}

interface Report {
  readonly before: { readonly user: Person };
  readonly preview: {
    readonly updateUser: { readonly user: Person; readonly preview: { readonly ldif: string } };
  };
  readonly cached: { readonly user: Person };
  readonly pages?: readonly string[][];
}

describe('the cache of a client, after the preview of another name,', () => {
  const people = ['ada', 'ben', 'cleo', 'dan', 'eve'];
  const service = TestService.forSuite({
    ldif: buildLdif(
      people.map((id) => ({ id, name: `The ${id}` })),
      [{ id: 'club', name: 'Club', members: people }],
    ),
  });

  async function run(program: string): Promise<Report> {
    const authorization = await service.serviceAccount('read', 'directory', 'write');
    const directory = mkdtempSync(join(variable('TEST_WORK_DIRECTORY'), `${program}-`));
    const settings = JSON.stringify({ url: `${service.url}/graphql/v1`, authorization });
    const { stdout } = await execute(process.execPath, [`${PROGRAMS}/${program}.mjs`, settings, directory]);
    return JSON.parse(stdout.trim().split('\n').at(-1) ?? '') as Report;
  }

  it.each(['apollo', 'graphcache', 'relay'])('has the name of the directory: %s', async (program) => {
    const { before, preview, cached } = await run(program);
    expect(before.user).toMatchObject({ id: 'ada', name: 'The ada' });
    expect(preview.updateUser.user).toMatchObject({ id: 'ada', name: 'Countess' });
    expect(preview.updateUser.preview.ldif).toContain('Countess');
    expect(cached.user).toEqual(before.user);
  });

  // Relay refetches the group as a node.
  it.each(['apollo', 'relay'])('has all members of a group after the last page: %s', async (program) => {
    const { pages } = await run(program);
    const names = people.map((id) => `The ${id}`);
    expect(pages).toEqual([names.slice(0, 2), names.slice(0, 4), names]);
  });
});
