import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import { dirname, join } from 'node:path';
import { text } from 'node:stream/consumers';
import { promisify } from 'node:util';
import { FormBrowser } from '../support/clients/form-browser.js';
import { writeProgram } from '../support/clients/programs.js';
import { readData } from '../support/clients/graphql.js';
import { requestToken } from '../support/clients/http.js';
import { Chromium } from '../support/servers/chromium.js';
import { findFreePort } from '../support/servers/postgres.mjs';
import { ServiceProcess } from '../support/servers/service-processes.js';
import { createDatabase, type TestDatabase } from '../support/servers/store.js';

const execute = promisify(execFile);

/** Headers that libraries of web pages add to their requests. */
const ADDED = {
  traceparent: '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01',
  baggage: 'sentry-release=1',
  'sentry-trace': '0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331',
  'x-requested-with': 'XMLHttpRequest',
  'cache-control': 'no-cache',
  'apollo-require-preflight': 'true',
};

describe('the programs in examples/programs, with a service on the sample', () => {
  let database: TestDatabase;
  let service: ServiceProcess;
  let url: string;
  let pagePort: number;

  beforeAll(async () => {
    [database, pagePort] = [await createDatabase(), await findFreePort()];
    const CORS_ORIGINS = `http://localhost:${pagePort}`;
    service = await ServiceProcess.start({ DATABASE_URL: database.url, CORS_ORIGINS });
    url = `http://127.0.0.1:${service.port}`;
  });

  afterAll(async () => {
    await service.process.kill('SIGKILL');
    await database.drop();
  });

  it('sign a user in with openid-client: one request for the claims and the API', async () => {
    const { PATH } = process.env;
    const program = spawn(process.execPath, [writeProgram('sign-in.mjs')], {
      env: { PATH, SERVICE_URL: url },
    });
    const output = text(program.stdout);
    const [line] = (await once(program.stderr, 'data')) as [Buffer];
    const [, address = ''] = /^Open (\S+)/.exec(line.toString()) ?? [];
    const browser = new FormBrowser(url);
    const page = await browser.open(address);
    const { response } = await browser.signIn(page.url, 'ada.martin');
    const last = await fetch(response.headers.get('location') ?? '');
    expect(await last.text()).toBe('You can close this page.');
    const printed = await output;
    for (const expected of [
      "sub: 'ada.martin'",
      "name: 'Ada Martin'",
      "given_name: 'Ada'",
      "family_name: 'Martin'",
      "email: 'ada.martin@example.org'",
      "profile: { name: 'Ada Martin', schoolYear: '3B'",
    ]) {
      expect(printed).toContain(expected);
    }
  });

  describe('Apollo Client in Chromium', () => {
    let chromium: Chromium;
    let pages: Server;
    let bundle: string;
    const seen: Record<string, unknown>[] = [];

    beforeAll(async () => {
      const directory = dirname(writeProgram('directory.mjs'));
      const entry = join(directory, 'entry.mjs');
      writeFileSync(
        entry,
        `import { createClient, readMembers } from './directory.mjs';
        globalThis.run = async ({ tokens, id, ...options }) => {
          const given = [];
          const getToken = (isNew) => (given.push(isNew), tokens[isNew ? 1 : 0]);
          const members = await readMembers(createClient({ ...options, getToken }), id);
          return { members, given };
        };`,
      );
      bundle = join(directory, 'bundle.js');
      await execute(process.execPath, [
        'node_modules/rolldown/bin/cli.mjs',
        entry,
        '-o',
        bundle,
        '--format',
        'iife',
      ]);
      pages = createServer((_request, response) => {
        response
          .setHeader('Content-Type', 'text/html')
          .end('<!doctype html><link rel=icon href=data:><title>Page</title>');
      }).listen(pagePort);
      chromium = await Chromium.start();
    });

    afterAll(async () => {
      pages.close();
      await chromium.stop();
    });

    async function run(origin: string): Promise<{ members: { name: string }[]; given: boolean[] }> {
      const token = (await requestToken(url, 'demo-basic', 'read')).slice('Bearer '.length);
      const visit = await chromium.visit(origin, {}, url);
      visit.context.on('request', (request) => seen.push(request.headers()));
      try {
        const page = await visit.open(origin);
        await page.addScriptTag({ path: bundle });
        const options = {
          url,
          // The first one is rejected.
          tokens: ['expired', token],
          id: 'community-clubs',
          headers: ADDED,
          clientAwareness: { name: 'club-page', version: '1.0' },
        };
        return await page.evaluate(`run(${JSON.stringify(options)})`);
      } finally {
        await visit.context.close();
      }
    }

    it('reads all pages with a new token, and with the headers that libraries add, from a listed origin', async () => {
      const { members, given } = await run(`http://localhost:${pagePort}/`);
      const query = '{ group(group: {id: "community-clubs"}) { members(first: 1) { totalCount } } }';
      const { authorization } = service;
      const { group } = await readData<{ group: { members: { totalCount: number } } }>(url, query, {
        authorization,
      });
      expect(group.members.totalCount).toBeGreaterThan(200);
      expect(new Set(members.map(({ name }) => name)).size).toBeGreaterThan(200);
      expect(members).toHaveLength(group.members.totalCount);
      expect(given.slice(0, 2)).toEqual([false, true]);
      expect(seen).toContainEqual(
        expect.objectContaining({
          ...ADDED,
          'apollographql-client-name': 'club-page',
          'apollographql-client-version': '1.0',
        }),
      );
    });
  });
});
