import { mkdtempSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { TestProcess } from '../support/clients/command.js';
import { findFreePort } from '../support/servers/postgres.mjs';
import { variable } from '../support/servers/store.js';
import { NEWER_NODE } from '../support/servers/system-packages.mjs';

it('the service starts, answers and ends with the Node.js of the image', async () => {
  const port = await findFreePort();
  const directory = mkdtempSync(join(variable('TEST_WORK_DIRECTORY'), 'node-'));
  const environment = { PORT: String(port), DATABASE_URL: `embedded:${directory}` };
  const service = TestProcess.start('main', [], environment, false, resolve(NEWER_NODE));
  try {
    await service.untilPrinted(/Node\.js 24\.[^]*Try [^]*'\n/);
    const token = /Service account «demo», token (\S+)/.exec(service.stdout)?.[1] ?? '';
    const query = '{group(group:{id:"chess-club"}){members(first:1){totalCount nodes{user{photo}}}}}';
    const url = `http://127.0.0.1:${port}/graphql/v1?query=${encodeURIComponent(query)}`;
    const answer = await fetch(url, { headers: { authorization: `Basic ${token}` } });
    const user = { photo: expect.any(String) as string };
    expect(await answer.json()).toEqual({
      data: { group: { members: { totalCount: 38, nodes: [{ user }] } } },
    });
  } finally {
    expect((await service.kill('SIGTERM')).code).toBe(0);
  }
});
