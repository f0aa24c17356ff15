import { execFile, execFileSync } from 'node:child_process';
import { promisify } from 'node:util';
import type { Page } from 'playwright-core';
import sharp from 'sharp';
import { DemoServiceAccount } from '../../src/service-accounts/demo-service-account.js';
import { EXAMPLES } from '../../web/explorer/source/examples.js';
import {
  Chromium,
  expectAccessible,
  expectFittingWidth,
  signInAt,
  type Visit,
} from '../support/servers/chromium.js';
import { buildLdif } from '../support/builders/directory.js';
import { eventually } from '../support/eventually.js';
import { findFreePort } from '../support/servers/postgres.mjs';
import { TestService } from '../support/servers/service.js';

const PHONE = { viewport: { width: 390, height: 844 } };
const DEVICE_CODE = 'urn:ietf:params:oauth:grant-type:device_code';
/** Queries that the explorer sends without a click. */
const BACKGROUND_QUERY = /query (IntrospectionQuery|CurrentToken) /;
/** What outlives the page in the browser. */
const BROWSER_STORAGE = 'JSON.stringify([{ ...localStorage }, { ...sessionStorage }])';
/** The number of the tab that a new editor begins with. */
const STORED_TAB = `JSON.parse(sessionStorage.getItem('graphiql:tabState')).activeTabIndex`;
/** Whether each picture is loaded. */
const LOADED = `[...document.querySelectorAll('.pictures img')].map((image) => image.complete && image.naturalWidth > 0)`;

let chromium: Chromium;
let service: TestService;
let visit: Visit;
/** Contains a path, which all links and files must contain, too. */
let url: string;
/** Port of a service in production whose issuer is the first service. */
let otherPort: string;

beforeAll(async () => {
  // Does nothing if the inputs have not changed.
  execFileSync(process.execPath, ['scripts/build-explorer.mjs'], { stdio: 'inherit' });
  const photo = await sharp({ create: { width: 64, height: 64, channels: 3, background: 'teal' } })
    .jpeg()
    .toBuffer();
  const port = String(await findFreePort());
  otherPort = String(await findFreePort());
  url = `http://127.0.0.1:${port}/school`;
  [chromium, service] = await Promise.all([
    Chromium.start(),
    TestService.start({
      ldif: buildLdif(
        [{ id: 'anna', name: 'Anna', photo }],
        [{ id: 'chess', name: 'Chess', owners: ['anna'] }],
      ),
      environment: { PORT: port, BASE_URL: url, CORS_ORIGINS: `http://127.0.0.1:${otherPort}` },
      compared: false,
    }),
  ]);
});

afterAll(async () => {
  await chromium.stop();
  await service.stop();
});

/** Begins to sign in, and returns the window of the provider. */
async function openSignIn(page: Page): Promise<Page> {
  const opened = page.waitForEvent('popup');
  await page.getByRole('button', { name: 'Sign in' }).click();
  return opened;
}

describe('the start page', () => {
  it('is accessible, and fits a phone', async () => {
    visit = await chromium.visit(url, PHONE);
    const page = await visit.open(`${url}/`);
    await expectFittingWidth(page);
    await expectAccessible(page);
    await page.emulateMedia({ colorScheme: 'dark' });
    await expectAccessible(page);
    await visit.end();
  });

  it('says what it found in the directory, and copies a first query that works unchanged', async () => {
    visit = await chromium.visit(url);
    const page = await visit.open(`${url}/`);
    await page.getByText(/^1 user in 1 group, read \d+ s ago$/).waitFor();
    await page.getByText('with any password, such as anna.').waitFor();
    await page.getByRole('button', { name: 'Copy' }).click();
    await page.getByRole('button', { name: 'Copied' }).waitFor();
    const command = await page.evaluate<string>('navigator.clipboard.readText()');
    expect(command).toBe(await page.locator('pre').textContent());
    const groups = { totalCount: 1, nodes: [{ name: 'Chess' }] };
    expect(JSON.parse((await promisify(execFile)('sh', ['-c', command])).stdout)).toEqual({
      data: { groups },
    });
    await visit.end();
  });
});

describe('the explorer', () => {
  let page: Page;

  /** Executes the operation of the tab, and returns the header Authorization of its request. */
  async function execute(): Promise<string | undefined> {
    // The editor takes a moment to show another tab.
    await page
      .locator('.graphiql-query-editor')
      .getByText(/Groups.with/)
      .waitFor();
    const request = page.waitForRequest(
      (sent) => sent.url().endsWith('/graphql/v1') && !BACKGROUND_QUERY.test(sent.postData() ?? ''),
    );
    await page.getByRole('button', { name: 'Execute' }).click();
    return (await request).headers()['authorization'];
  }

  beforeAll(async () => {
    visit = await chromium.visit(url);
    page = await visit.open(`${url}/explorer`);
    await page.getByText('Scope: read').waitFor();
  });

  afterAll(() => visit.end());

  it('is accessible, and shows the schema', async () => {
    await expectAccessible(page);
    await page.getByRole('button', { name: 'Show Documentation Explorer' }).click();
    await page.getByRole('link', { name: 'Query' }).first().waitFor();
    await page.getByRole('button', { name: 'Hide Documentation Explorer' }).click();
  });

  it('signs a user in with the selected scopes', async () => {
    await page.getByLabel('profile').uncheck();
    await page.getByLabel('directory').check();
    const window = await openSignIn(page);
    await signInAt(window, 'anna');
    await page.getByText('60 min left').waitFor();
    await eventually(() => Promise.resolve(window.isClosed()), true);
    expect(await page.getByLabel('Scopes of the token').getByRole('listitem').allTextContents()).toEqual([
      'read',
      'directory',
    ]);
    expect(page.url()).toBe(`${url}/explorer`);
    await expectAccessible(page);
  });

  it('shows the response, its cost and its photos, and does not store the token', async () => {
    const authorization = await execute();
    expect(authorization).toMatch(/^Bearer ey/);
    await page.locator('.graphiql-response').getByText('"Chess"').waitFor();
    await page
      .getByText(/^Cost: 1 point · .* points left this hour · .* requests left this minute$/)
      .waitFor();
    await page.getByRole('img', { name: 'Anna' }).waitFor();
    // Polls, because Playwright's `waitForFunction` needs `eval`, which the page's policy forbids.
    await eventually(() => page.evaluate(LOADED), [true]);
    expect(await page.evaluate(BROWSER_STORAGE)).not.toContain((authorization ?? '').slice('Bearer '.length));
    await expectAccessible(page);
  });

  it('keeps the tabs and the response while a user changes scopes', async () => {
    await page.getByText('Change scopes').click();
    await page.getByLabel('profile').check();
    await (await openSignIn(page)).getByRole('button', { name: 'Continue' }).click();
    await page.getByLabel('Scopes of the token').getByText('profile').waitFor();
    expect(await page.locator('.graphiql-response').textContent()).toContain('Chess');
  });

  it('shows the variables of a tab that has some', async () => {
    await page.getByRole('button', { name: 'Show editor tools' }).waitFor();
    await page.getByRole('button', { name: 'Search', exact: true }).click();
    await page.getByRole('button', { name: 'Hide editor tools' }).waitFor();
    await page.getByText('"mar"').waitFor();
    // From here on, the editor would begin with this tab, if the next one were stored late.
    await eventually(() => page.evaluate(STORED_TAB), 2);
    await page.getByRole('button', { name: 'Groups', exact: true }).click();
    await page.getByRole('button', { name: 'Show editor tools' }).waitFor();
  });

  it('signs out, and sends requests without the token', async () => {
    await page.getByRole('button', { name: 'Sign out' }).click();
    await page.getByRole('button', { name: 'Sign in' }).waitFor();
    // The response of the session is gone, with its photos.
    await page.getByText('Sign in, and run an operation.').waitFor();
    expect(await page.locator('.graphiql-response').textContent()).not.toContain('Chess');
    expect(await page.getByRole('img', { name: 'Anna' }).count()).toBe(0);
    expect(await page.locator('.graphiql-tab').count()).toBe(EXAMPLES.length);
    expect(await execute()).toBeUndefined();
    await page.getByText('HTTP 401').waitFor();
    await page.getByRole('button', { name: 'Sign in with read' }).waitFor();
    await visit.forgive(/401/);
  });
});

describe('the device flow', () => {
  it('gives a device a token, for data and photos, after a user has allowed it in another window', async () => {
    const sendRequest = async (path: string, form: Record<string, string>) => {
      const body = new URLSearchParams({ client_id: 'demo-app', ...form });
      return (await (await fetch(`${url}${path}`, { method: 'POST', body })).json()) as Record<
        string,
        string
      >;
    };
    const code = await sendRequest('/oauth2/device_authorization', { scope: 'profile read' });
    const form = { grant_type: DEVICE_CODE, device_code: code['device_code'] ?? '' };
    expect(await sendRequest('/oauth2/token', form)).toMatchObject({ error: 'authorization_pending' });

    visit = await chromium.visit(url, PHONE);
    const page = await visit.open(code['verification_uri'] ?? '');
    await page.getByPlaceholder('Enter code').fill((code['user_code'] ?? '').toLowerCase());
    await expectAccessible(page);
    await page.getByRole('button', { name: 'Continue' }).click();
    await page.getByRole('heading', { name: 'Confirm Device' }).waitFor();
    await expectAccessible(page);
    await page.getByRole('button', { name: 'Continue' }).click();
    await signInAt(page, 'anna');
    await page.getByText('was successful').waitFor();
    await expectAccessible(page);
    await visit.end();

    const { access_token: token = '' } = await sendRequest('/oauth2/token', form);
    visit = await chromium.visit(url, { colorScheme: 'dark' });
    const device = await visit.open(`${url}/explorer`);
    await device.getByLabel('Service-account token').fill(token);
    await device.getByRole('button', { name: 'Use', exact: true }).click();
    await device.getByText('60 min left').waitFor();
    // The editor is ready then.
    await device.getByText('Scope: read').waitFor();
    await device.getByRole('button', { name: 'Profile', exact: true }).click();
    await device.getByText('Scope: profile').waitFor();
    await device.getByRole('button', { name: 'Execute' }).click();
    await device.locator('.graphiql-response').getByText('"anna"', { exact: true }).waitFor();
    await device.getByRole('img', { name: 'Anna' }).waitFor();
    await eventually(() => device.evaluate(LOADED), [true]);
    await expectAccessible(device);
    await device.getByRole('button', { name: 'Sign out' }).click();
    await device.getByRole('button', { name: 'Sign in' }).waitFor();
    await visit.end();
  });
});

describe('the explorer of a service in production, if it is enabled', () => {
  let production: TestService;

  beforeAll(async () => {
    production = await TestService.start({
      ldif: buildLdif([{ id: 'anna', name: 'Anna' }]),
      environment: {
        NODE_ENV: 'production',
        PORT: otherPort,
        AUTH_URL: url,
        AUTH_AUDIENCE: url,
        URL_SIGNING_KEYS: 'ab'.repeat(32),
        EXPLORER: 'true',
        EXPLORER_CLIENT_ID: 'demo-app',
      },
      compared: false,
    });
    visit = await chromium.visit(production.url, {}, url);
  });

  afterAll(async () => {
    try {
      await visit.end();
    } finally {
      await production.stop();
    }
  });

  it('signs users in at an issuer of another origin until the token expires, and works without introspection', async () => {
    const page = await visit.open(`${production.url}/explorer`);
    await page.getByText('This service does not describe its schema').waitFor();
    await (await openSignIn(page)).getByRole('link', { name: 'Cancel' }).click();
    await page.getByText('You have not signed in').waitFor();
    // A browser that blocks windows.
    await page.evaluate('open = () => null');
    await page.getByRole('button', { name: 'Sign in' }).click();
    await signInAt(page, 'anna');
    await page.getByText('60 min left').waitFor();
    // The editor is ready then.
    await page.getByText('Scope: read').waitFor();
    await page.getByRole('button', { name: 'Profile', exact: true }).click();
    await page.getByText('Scope: profile').waitFor();
    await page.getByRole('button', { name: 'Execute' }).click();
    await page.locator('.graphiql-response').getByText('"Anna"', { exact: true }).waitFor();
    await page.clock.setSystemTime(Date.now() + 3_600_000);
    await page.getByText('Your token has expired').waitFor();
    await page.getByRole('button', { name: 'Sign in' }).waitFor();
  });
});

describe('the explorer with the sample, in development', () => {
  let sample: TestService;

  beforeAll(async () => {
    const environment = { DIRECTORY_URL: 'file:sample/directory.ldif' };
    sample = await TestService.start({ environment, compared: false });
    await sample.app.get(DemoServiceAccount).ensure();
  });

  afterAll(() => sample.stop());

  it('uses the demonstration account with one click', async () => {
    visit = await chromium.visit(sample.url, PHONE);
    const page = await visit.open(`${sample.url}/explorer`);
    await page.getByText('Scope: read').waitFor();
    await expectAccessible(page);
    await page.getByRole('button', { name: 'Use the demonstration account' }).click();
    await page.getByText('does not end').waitFor();
    await page.getByRole('button', { name: 'Execute' }).click();
    await page.getByRole('list', { name: 'Pictures in the response' }).waitFor();
    await expectFittingWidth(page);
    await visit.end();
  });
});

describe('in production', () => {
  let production: TestService;
  let demoToken: string;

  beforeAll(async () => {
    production = await TestService.start({
      environment: {
        NODE_ENV: 'production',
        ALLOW_EMBEDDED: 'true',
        DIRECTORY_URL: 'file:sample/directory.ldif',
      },
      compared: false,
    });
    demoToken = (await production.app.get(DemoServiceAccount).ensure()) ?? '';
  });

  afterAll(() => production.stop());

  it('does not serve the explorer', async () => {
    const statuses = ['/explorer', '/explorer/callback', '/explorer/assets/main.js'].map(
      async (path) => (await fetch(`${production.url}${path}`)).status,
    );
    expect(await Promise.all(statuses)).toEqual([404, 404, 404]);
  });

  it('has a start page without secrets and without a link to the explorer', async () => {
    expect(demoToken).not.toBe('');
    const text = await (await fetch(production.url)).text();
    expect(text).toContain('<h2>The first query</h2>');
    for (const word of [
      demoToken,
      'demo-basic',
      'such as',
      ' users in ',
      'demo-app',
      'explorer',
      'schema.graphql',
    ]) {
      expect(text).not.toContain(word);
    }
  });
});
