import { execFileSync } from 'node:child_process';
import { Agent } from 'node:http';
import { connect, type Socket } from 'node:net';
import { buildLdif } from '../support/builders/directory.js';
import { eventually } from '../support/eventually.js';
import { forSuite } from '../support/for-suite.js';
import { post, send } from '../support/clients/http.js';
import { WatchedService } from '../support/watched-service.js';

/** Maximum of bytes that are logged about it. */
const MAX_LOGGED_BYTES = 10_000;
/** Idle connections. */
const IDLE = 150;
/** Files that a process may open in addition to the current ones. */
const MORE_FILES = 20;

describe('a process without free file descriptors', () => {
  const service = forSuite(() => WatchedService.start({ ldif: buildLdif([{ id: 'anna' }]) }));
  let authorization: string;
  /** Maximum number of its files. */
  let limit: number;
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });

  beforeAll(async () => {
    authorization = await service.accessToken('read', 'demo-basic');
    await sendRequest();
    // Set now, because Node.js opens hundreds of files at its start.
    limit = service.descriptors + MORE_FILES;
    execFileSync('prlimit', ['--pid', String(service.id), `--nofile=${limit}:${limit}`]);
  });

  afterAll(() => agent.destroy());

  let count = 0;
  /** An uncached query. */
  const sendRequest = (through?: Agent) =>
    post(service, { query: `# ${++count}\n{ user(user: {id: "anna"}) { id } }` }, { authorization }, through);

  async function open(): Promise<Socket> {
    const socket = connect(service.config.port, service.config.host);
    socket.on('error', () => undefined);
    await new Promise((resolve) => socket.once('connect', resolve));
    return socket;
  }

  it('serves existing connections, and accepts new ones after others are closed', async () => {
    expect((await sendRequest(agent)).status).toBe(200);
    const usual = await service.restlessness();
    const { descriptors } = service;
    for (let round = 0; round < 3; round++) {
      const before = service.output.length;
      const sockets = await Promise.all(Array.from({ length: IDLE }, open));
      await eventually(() => Promise.resolve(service.descriptors >= limit - 1), true);
      for (let time = 0; time < 5; time++) expect((await sendRequest(agent)).status).toBe(200);
      await expect(sendRequest()).rejects.toMatchObject({ code: 'ECONNRESET' });
      expect((await send(service, { path: '/_health', agent })).status).toBe(200);
      await eventually(async () => (await service.restlessness()) < usual + 0.5, true);
      for (const socket of sockets) socket.destroy();
      await eventually(async () => (await sendRequest().catch(() => null))?.status, 200);
      expect(service.output.length - before).toBeLessThan(MAX_LOGGED_BYTES);
    }
    expect(service.hasEnded).toBe(false);
    await eventually(() => Promise.resolve(service.descriptors <= descriptors), true);
  });
});
