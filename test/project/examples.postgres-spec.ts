import { execFile } from 'node:child_process';
import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { Page, Request } from 'playwright-core';
import {
  Chromium,
  expectAccessible,
  expectFittingWidth,
  signInAt,
  type Visit,
} from '../support/servers/chromium.js';
import { ClubPage } from '../support/clients/club-page.js';
import { eventually } from '../support/eventually.js';
import { findFreePort } from '../support/servers/postgres.mjs';
import { ServiceProcess } from '../support/servers/service-processes.js';
import { createDatabase, type TestDatabase, variable } from '../support/servers/store.js';
import { readData } from '../support/clients/graphql.js';
import { requestToken } from '../support/clients/http.js';
import { writeProgram } from '../support/clients/programs.js';
import { EXAMPLES } from '../../web/explorer/source/examples.js';

const execute = promisify(execFile);

/** Whether the first photo of each role is loaded. */
const ARE_LOADED = `[...document.querySelectorAll('.people li:first-child img')]
  .every((image) => image.naturalWidth === 256)`;

const SIGNING_KEY = 'ab'.repeat(32);

/** Indented commands of a page, and the response that it shows below them. */
const COMMANDS = /((?:^(?: {4}.*)?\n)*^ {4}.*\n)(?:\n```(json|ldif)\n([^]*?)^```$)?/gm;

/** The body of a request of the page. */
interface Operation {
  readonly operationName?: string;
  readonly query?: string;
  readonly variables?: { readonly isFirst?: boolean };
}

interface Person {
  role: { value: string };
  user: { name: string; email: string | null; photo: string | null };
}

describe('the examples, with a service on the sample', () => {
  let database: TestDatabase;
  let service: ServiceProcess;
  let url: string;
  let people: Person[];

  beforeAll(async () => {
    database = await createDatabase();
    const directory = mkdtempSync(join(variable('TEST_WORK_DIRECTORY'), 'examples-'));
    const clients = join(directory, 'clients.json');
    const port = await findFreePort();
    // The sample contains the default port of the page. A file of one's own names the scopes of the model.
    const sample = readFileSync('sample/clients.json', 'utf8').replaceAll(':5173/', `:${port}/`);
    writeFileSync(clients, sample.replace('"openid profile ', '"openid profile contact '));
    service = await ServiceProcess.start({
      DATABASE_URL: database.url,
      AUTH_EMBEDDED_CLIENTS: clients,
      CORS_ORIGINS: `http://localhost:${port}`,
      URL_SIGNING_KEYS: SIGNING_KEY,
    });
    url = `http://127.0.0.1:${service.port}`;
    people = await readPeople();
    [chromium, page] = await Promise.all([
      Chromium.start(),
      ClubPage.serve(port, url, join(directory, 'page')),
    ]);
  });

  afterAll(async () => {
    page.stop();
    await Promise.all([chromium.stop(), service.process.kill('SIGKILL')]);
    await database.drop();
  });

  let chromium: Chromium;
  let page: ClubPage;

  /** Reads the members of the chess club with the service account of the log. */
  async function readPeople(): Promise<Person[]> {
    const query = `{ group(group: {id: "chess-club"}) { members(first: 100) {
      nodes { role { value } user { name email photo(size: 256) } } } } }`;
    const { authorization } = service;
    const { group } = await readData<{ group: { members: { nodes: Person[] } } }>(url, query, {
      authorization,
    });
    return group.members.nodes;
  }

  describe('the club page', () => {
    let visit: Visit;

    beforeEach(async () => {
      visit = await chromium.visit(page.url, { viewport: { width: 390, height: 844 }, colorScheme: 'dark' });
    });

    afterEach(async () => {
      await visit.context.close();
    });

    async function openSignedIn(): Promise<Page> {
      const shown = await visit.open(`${page.url}#chess-club`);
      await shown.getByRole('button', { name: 'Sign in' }).click();
      await signInAt(shown, 'ada.martin');
      return shown;
    }

    /** Expects requests to the service only, and no console messages. */
    function expectClean(): void {
      expect(visit.foreign.filter((requestUrl) => !requestUrl.startsWith(`${url}/`))).toEqual([]);
      expect(visit.complaints).toEqual([]);
    }

    const operationOf = (request: Request) => (request.postDataJSON() ?? {}) as Operation;

    it('shows the members of the club of the signed-in user by role, with photos, in pages', async () => {
      const operations: Operation[] = [];
      visit.context.on('request', (request) => operations.push(operationOf(request)));
      const shown = await visit.open(page.url);
      await expectAccessible(shown);
      await shown.close();
      const club = await openSignedIn();
      await club.getByRole('heading', { name: 'Chess Club' }).waitFor();
      expect(await club.getByText(/^\d+ of \d+ people$/).textContent()).toBe(`24 of ${people.length} people`);
      await club.getByRole('button', { name: 'Show more people' }).click();
      await club.getByText(`${people.length} of ${people.length} people`).waitFor();
      expect(await club.getByRole('button', { name: 'Show more people' }).count()).toBe(0);
      // The total is requested once.
      const pages = operations.filter(({ operationName }) => operationName === 'Club');
      expect(pages.map(({ variables }) => variables?.isFirst)).toEqual([true, false]);

      for (const [role, title] of Object.entries({ OWNER: 'Owners', ADMIN: 'Admins', MEMBER: 'Members' })) {
        const section = club.getByRole('region', { name: title });
        const names = await section.locator('.name').allTextContents();
        const expected = people.filter((person) => person.role.value === role).map(({ user }) => user.name);
        expect(names.sort()).toEqual(expected.sort());
      }
      // Fields of the model file.
      expect(await club.getByText('Meets here:').textContent()).toBe('Meets here: D 101');
      const teacher = club.getByRole('listitem').filter({ hasText: 'Tomáš Dvořák' });
      expect(await teacher.getByText('Head of Mathematics').count()).toBe(1);
      expect(await teacher.getByRole('link').getAttribute('href')).toMatch(/^tel:\+493023125\d{3}$/);
      const photographed = people.filter(({ user }) => user.photo !== null);
      expect(photographed.length).toBeGreaterThan(0);
      expect(photographed.length).toBeLessThan(people.length);
      expect(await club.locator('.people img').count()).toBe(photographed.length);
      // Polls, because Playwright's `waitForFunction` needs `eval`, which the page's policy forbids.
      await eventually(() => club.evaluate(ARE_LOADED), true);
      await expectAccessible(club);
      await expectFittingWidth(club);
      expectClean();
    });
  });

  describe('the operations of the explorer', () => {
    const title = (query: string) => /(?:query|mutation) (\w+)/.exec(query)?.[1] ?? '';
    const named = EXAMPLES.map((example) => [title(example.query), example] as const);

    it.each(named)('%s works with the scopes that it names', async (_title, { query, variables }) => {
      const [, scopes = 'profile'] = /# Scopes?: (.*)/.exec(query) ?? [];
      const authorization = await requestToken(url, 'demo-basic', scopes.replace(' and ', ' '));
      const parsed = JSON.parse(variables ?? '{}') as Record<string, unknown>;
      const data = await readData(url, query, { authorization, variables: parsed });
      expect(JSON.stringify(data)).toMatch(/"nodes":\[\{|"nodeCount":\d{4}|"ldif":"version: 1/);
    });
  });

  it.each(['README.md', 'docs/authentication.md', 'docs/model.md', 'docs/clients.md', 'docs/scim.md'])(
    'the requests of %s have the responses that it shows',
    async (path) => {
      const page = readFileSync(path, 'utf8').replace(/^ {4}TOKEN=….*\n/m, '');
      const text = page.replaceAll('http://127.0.0.1:3000', url);
      // An ellipsis stands for a value of the reader.
      const blocks = [...text.matchAll(COMMANDS)].filter(([, commands = '']) =>
        /^[^…]*curl -s [^…]*$/.test(commands),
      );
      const script = blocks.map(([, commands = '']) => `${commands}\necho '#'`).join('\n');
      const cwd = mkdtempSync(join(variable('TEST_WORK_DIRECTORY'), 'page-'));
      const TOKEN = service.authorization.slice('Basic '.length);
      const { stdout } = await execute('bash', ['-ec', script], {
        cwd,
        env: { PATH: process.env.PATH, TOKEN },
      });
      const outputs = stdout.split('#\n');
      const read = (language: string, output = '') =>
        language === 'json' ? (JSON.parse(output) as object) : output.trim();
      const shown = blocks.flatMap(([, , language, output], index) =>
        language === undefined ? [] : [{ language, output, response: outputs[index] }],
      );
      expect(shown.length).toBeGreaterThan(0);
      for (const { language, output, response } of shown)
        expect(read(language, response)).toEqual(read(language, output));
    },
  );

  describe('the script', () => {
    it('prints the addresses of a group, or an error for an unknown group', async () => {
      const env = {
        PATH: process.env.PATH,
        SERVICE_URL: url,
        TOKEN: service.authorization.slice('Basic '.length),
      };
      const run = (group: string) => execute('bash', [writeProgram('emails.sh'), group], { env });
      const expected = people
        .filter(({ user }) => user.email !== null)
        .map(({ user }) => `${user.name} <${user.email ?? ''}>`);
      expect((await run('chess-club')).stdout.trimEnd().split('\n')).toEqual(expected);
      // More members than one page contains.
      expect((await run('community-clubs')).stdout.match(/@example\.org>\n/g)?.length).toBeGreaterThan(200);
      await expect(run('chess-clubs')).rejects.toMatchObject({
        code: 5,
        stdout: '',
        stderr: expect.stringContaining('NOT_FOUND: There is no group with this id') as string,
      });
    });
  });
});
