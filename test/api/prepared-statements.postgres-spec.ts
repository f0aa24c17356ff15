import { readFileSync } from 'node:fs';
import { Agent } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import fc from 'fast-check';
import pg from 'pg';
import { writeClients } from '../support/clients/clients.js';
import { buildLdif } from '../support/builders/directory.js';
import { dataOf, type HttpAnswer, post } from '../support/clients/http.js';
import { STATEMENT_SHAPES } from '../support/builders/statement-shapes.js';
import { WatchedService } from '../support/watched-service.js';

/** Documents; STATEMENT_SHAPES=20000 sends more. */
const DOCUMENTS = Number(process.env['STATEMENT_SHAPES'] ?? 600);
/** Concurrent clients. */
const LANES = 8;
/** Megabytes that a backend may use in addition to those after its start. */
const MOST = 40;

let service: WatchedService;
let authorization: string;
let database: pg.Pool;
let refused = 0;
const agent = new Agent({ keepAlive: true });

beforeAll(async () => {
  const users = ['anna', 'ben', 'cleo'].map((id) => ({ id, name: `${id} Ünï`, schoolYear: '1A' }));
  const groups = [
    { id: 'club', members: ['anna', 'ben', '@team'], admins: ['anna'], owners: ['ben'] },
    { id: 'team', members: ['cleo'], owners: ['anna'] },
  ];
  service = await WatchedService.start({
    ldif: buildLdif(users, groups),
    environment: { AUTH_EMBEDDED_CLIENTS: writeClients([{ id: 'client', owner: 'anna' }]) },
  });
  authorization = await service.accessToken('profile read directory', 'client');
  // One connection for all statements.
  database = new pg.Pool({ connectionString: service.config.database.url, max: 1 });
});

afterAll(async () => {
  agent.destroy();
  await database.end();
  await service.stop();
});

/** Private memory of a process in megabytes, without shared buffers: proc(5). 0 for a process that has ended. */
function megabytesOf(process: number): number {
  try {
    const [, kilobytes] = /Anonymous:\s+(\d+) kB/.exec(
      readFileSync(`/proc/${process}/smaps_rollup`, 'utf8'),
    ) ?? ['', 'NaN'];
    return Number(kilobytes) / 1024;
  } catch (error) {
    // A connection with the maximum number of statements is replaced.
    const { code = '' } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT' || code === 'ESRCH') return 0;
    throw error;
  }
}

/** On a busy machine, the service may have no free connection in time and rejects the request, which is then repeated. */
async function answerOf(query: string): Promise<HttpAnswer> {
  for (;;) {
    const answer = await post(service, { query }, { authorization }, agent);
    if (answer.status !== 503) return answer;
    refused++;
    await sleep(1000);
  }
}

/** Backends of the service. */
async function listBackends(): Promise<number[]> {
  const { rows } = await database.query<{ pid: number }>(
    'select pid from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()',
  );
  return rows.map(({ pid }) => pid);
}

it(`${DOCUMENTS} documents with different selections leave the backends of PostgreSQL small`, async () => {
  // A new connection without earlier statements.
  const { rows } = await database.query<{ pid: number }>('select pg_backend_pid() as pid');
  const start = megabytesOf(rows[0]?.pid ?? 0);
  const documents = fc.sample(STATEMENT_SHAPES, { numRuns: DOCUMENTS, seed: 20_261_122 });
  let [next, largest] = [0, 0];
  const sendRequest = async (): Promise<void> => {
    while (next < documents.length) {
      const query = documents[next++] ?? '';
      // Twice, because a repetition behaves differently.
      for (const again of ['', '#\n']) dataOf(await answerOf(again + query));
      if (next % 100 === 0) largest = Math.max(largest, ...(await listBackends()).map(megabytesOf));
    }
  };
  await Promise.all(Array.from({ length: LANES }, sendRequest));
  const backends = await listBackends();
  expect(backends.length).toBeGreaterThan(1);
  largest = Math.max(largest, ...backends.map(megabytesOf));
  if (DOCUMENTS > 600) console.info({ refused, start, largest, service: await service.collect() });
  expect(largest - start).toBeLessThan(MOST);
});
