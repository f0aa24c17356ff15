import { Revisions } from '../../src/database/revisions/revisions.js';
import { Chromium, expectAccessible, expectFittingWidth, type Visit } from '../support/servers/chromium.js';
import { buildLdif } from '../support/builders/directory.js';
import { eventually, LONGEST_WAIT } from '../support/eventually.js';
import { findFreePort } from '../support/servers/postgres.mjs';
import { TestService } from '../support/servers/service.js';

const PHONE = { viewport: { width: 390, height: 844 } };
const LDIF = buildLdif([{ id: 'anna' }], [{ id: 'chess', owners: ['anna'] }]);

let chromium: Chromium;
let service: TestService;
let visit: Visit;
/** Contains a path, which all links must contain, too. */
let url: string;

beforeAll(async () => {
  const port = String(await findFreePort());
  url = `http://127.0.0.1:${port}/school`;
  [chromium, service] = await Promise.all([
    Chromium.start(),
    TestService.start({ ldif: LDIF, environment: { PORT: port, BASE_URL: url }, compared: false }),
  ]);
});

afterAll(async () => {
  await chromium.stop();
  await service.stop();
});

describe('an address without a page', () => {
  /** As Chromium sends it when a person opens an address. */
  const BROWSER = 'text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,image/webp,*/*;q=0.8';
  const PATHS: [path: string, status: number][] = [
    ['/graphql/v1', 400],
    ['/graphql/v1/nothing', 404],
    ['/nothing', 404],
    ['/reference/nothing', 404],
    ['/explorer/nothing', 404],
    ['/oauth2/nothing', 404],
    ['/oauth2/token', 405],
  ];

  it.each(PATHS)('leads people to the start page, and gives programs JSON: %s', async (path, status) => {
    const shown = await fetch(`${url}${path}`, { headers: { accept: BROWSER } });
    expect([shown.status, shown.headers.get('content-type')]).toEqual([status, 'text/html; charset=utf-8']);
    expect(shown.headers.get('content-security-policy')).toMatch(/^default-src 'none'; .*style-src 'sha256-/);
    expect(await shown.text()).toMatch(/<a href="(http:[^"]*)?\/school\/">/);
    for (const accept of ['*/*', 'application/json', 'application/json, text/html']) {
      const answer = await fetch(`${url}${path}`, { headers: { accept } });
      expect([answer.status, answer.headers.get('content-type')]).toEqual([
        status,
        expect.stringMatching(/^application\/(problem\+)?json\b/) as string,
      ]);
      expect(await answer.json()).toMatchObject({});
    }
  });

  it.each(['explorer', 'status', 'graphql/v1', 'reference', 'reference/errors'])(
    'leads to the page without a slash: %s',
    async (path) => {
      const { status, headers } = await fetch(`${url}/${path}/?a=b`, {
        redirect: 'manual',
        headers: { accept: BROWSER },
      });
      const location = new URL(headers.get('location') ?? '', `${url}/${path}/`);
      expect([status, location.pathname]).toEqual([308, new URL(`${url}/${path}`).pathname]);
    },
  );

  it('is no address with an operation, of an image, or that another method reads', async () => {
    const typeOf = async (path: string, method = 'GET') =>
      (await fetch(`${url}${path}`, { method, headers: { accept: BROWSER } })).headers.get('content-type');
    expect(await typeOf('/graphql/v1?query={nothing}')).toBe('application/json; charset=utf-8');
    expect(await typeOf('/graphql/v1?query={__typename}')).toBe('application/json; charset=utf-8');
    expect(await typeOf('/photo/v1/anna')).toBe('application/problem+json');
    expect(await typeOf('/nothing', 'DELETE')).toBe('application/problem+json');
  });

  it('has an accessible page that fits a phone, in a browser', async () => {
    visit = await chromium.visit(url, PHONE);
    const page = await visit.open(`${url}/graphql/v1`);
    await page.getByRole('heading', { name: 'This address is for programs' }).waitFor();
    await expectFittingWidth(page);
    await expectAccessible(page);
    await page.emulateMedia({ colorScheme: 'dark' });
    await expectAccessible(page);
    await page.getByRole('link', { name: 'start page' }).click();
    await page.getByRole('heading', { name: 'The first query' }).waitFor();
    await visit.forgive(/status of 400/);
    await visit.end();
  });
});

describe('the status page', () => {
  it('shows mirror, freshness, guard and the last hour, and is renewed by itself', async () => {
    visit = await chromium.visit(url, PHONE);
    const page = await visit.open(`${url}/`);
    await page.getByRole('navigation', { name: 'Pages' }).getByRole('link', { name: 'Status' }).click();
    await page.getByText('All is well.').waitFor();
    for (const text of [
      'It follows the directory',
      /^Compared with the directory \d+ seconds? ago/,
      'It holds no change',
    ])
      await page.getByText(text).waitFor();
    await page.getByRole('img', { name: /^Age of the mirror: at most \d+ second/ }).waitFor();
    await page.getByRole('img', { name: /^Requests a minute: at most [1-9]/ }).waitFor();
    await expectFittingWidth(page);
    await expectAccessible(page);
    await page.emulateMedia({ colorScheme: 'dark' });
    await expectAccessible(page);
    service.replaceDirectory('version: 1\n');
    await page.getByText('It holds a change that would delete too much').waitFor({ timeout: LONGEST_WAIT });
    await page.getByText('The service answers, and needs attention.').waitFor();
    await expectAccessible(page);
    service.replaceDirectory(LDIF);
    await page.getByText('It holds no change').waitFor({ timeout: LONGEST_WAIT });
    await visit.end();
  });

  it('is measured once for all who ask in the same second', async () => {
    const measured = jest.spyOn(service.app.get(Revisions), 'readAge');
    try {
      const ask = async () => (await fetch(`${url}/status/history`)).status;
      const statuses = await Promise.all(Array.from({ length: 40 }, ask));
      expect(statuses).toEqual(Array<number>(40).fill(200));
      expect(measured.mock.calls.length).toBeLessThan(20);
    } finally {
      measured.mockRestore();
    }
  });

  it('counts requests, and no probes', async () => {
    const count = async () => {
      const { minutes } = (await (await fetch(`${url}/status/history`)).json()) as {
        minutes: { requests: number }[];
      };
      return minutes.reduce((sum, { requests }) => sum + requests, 0);
    };
    const before = await count();
    for (const path of ['/_health', '/_readiness', '/metrics', '/status', '/status'])
      await fetch(`${url}${path}`);
    await eventually(count, before + 2);
  });
});
