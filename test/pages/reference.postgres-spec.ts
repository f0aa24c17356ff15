import { readFileSync } from 'node:fs';
import {
  buildClientSchema,
  buildSchema,
  getIntrospectionQuery,
  type IntrospectionQuery,
  Kind,
  lexicographicSortSchema,
  parse,
  printSchema,
  valueFromASTUntyped,
} from 'graphql';
import type { Page } from 'playwright-core';
import { readConfig } from '../../src/config/config.js';
import { buildSdl } from '../../src/schema.js';
import {
  Chromium,
  expectAccessible,
  expectFittingWidth,
  FIND_BROKEN_WORDS,
  type Visit,
} from '../support/servers/chromium.js';
import { contractElementsOf } from '../support/builders/schema-coordinates.js';
import { NEEDED, schema } from '../support/clients/scope-walk.js';
import { dataOf, post, refusalOf, send } from '../support/clients/http.js';
import { TestService } from '../support/servers/service.js';
import { TwinService } from '../support/twin.js';

const SDL = '/graphql/v1/schema.graphql';
const PAGES = ['', '/queries', '/mutations', '/objects', '/inputs', '/values', '/errors'];

const service = TestService.forSuite({
  ldif: readFileSync('sample/directory.ldif', 'utf8'),
  environment: { DIRECTORY_MODEL: 'sample/model.yaml', LIMIT_POINTS_PER_HOUR: '5000' },
  compared: false,
});

/** Whether each link of the bar is within the window. */
const ARE_IN_WINDOW = `[...document.querySelectorAll('.bar nav a')].map((link) => {
  const { left, right } = link.getBoundingClientRect();
  return left >= 0 && right <= innerWidth;
})`;

/** A service with the built-in model. */
let builtIn: TwinService;

beforeAll(async () => {
  builtIn = await TwinService.start(service, { DIRECTORY_MODEL: '' });
});

afterAll(() => builtIn.stop());

/** The HTML of all pages. */
async function readPages(from: Parameters<typeof send>[0]): Promise<string> {
  const answers = await Promise.all(PAGES.map((path) => send(from, { path: `/reference${path}` })));
  return answers.map(({ body }) => body).join('');
}

const anchorOf = (coordinate: string) =>
  coordinate.replace(/^(Query|Mutation)\./, '').replace(/[(:)]/g, (sign) => (sign === '(' ? '.' : ''));

describe('the schema as text', () => {
  it('matches the file, and may be cached', async () => {
    const { status, headers, body } = await send(builtIn, { path: SDL });
    expect(status).toBe(200);
    expect(headers).toMatchObject({
      'content-type': 'text/plain; charset=utf-8',
      'cache-control': 'public, max-age=300',
    });
    expect(body).toBe(readFileSync('schema.graphql', 'utf8'));
    const known = { 'if-none-match': `"other", ${String(headers.etag)}` };
    const again = await send(builtIn, { path: SDL, headers: known });
    expect([again.status, again.body]).toEqual([304, '']);
    expect((await send(builtIn, { path: SDL, method: 'HEAD' })).headers.etag).toBe(headers.etag);
  });

  it.each([SDL, '/reference/objects'])('is compressed, as its pages are: %s', async (path) => {
    const [plain, small, again] = await Promise.all(
      ['identity', 'gzip', 'gzip'].map(async (coding) =>
        fetch(`http://127.0.0.1:${builtIn.config.port}${path}`, { headers: { 'accept-encoding': coding } }),
      ),
    );
    expect(plain?.headers.get('content-encoding')).toBeNull();
    const text = await plain?.text();
    for (const each of [small, again]) {
      expect(each?.headers.get('content-encoding')).toBe('gzip');
      expect(each?.headers.get('vary')).toContain('Accept-Encoding');
      expect(await each?.text()).toBe(text);
    }
  });

  it('has the scopes of each field, in a directive and in its description', async () => {
    const { body } = await send(builtIn, { path: SDL });
    const found: Record<string, unknown> = {};
    const inDescriptions: Record<string, unknown> = {};
    for (const definition of parse(body).definitions) {
      if (definition.kind !== Kind.OBJECT_TYPE_DEFINITION) continue;
      for (const { name, description, directives = [] } of definition.fields ?? []) {
        const coordinate = `${definition.name.value}.${name.value}`;
        const [, said] = /Needs the scopes? (.*)\.$/.exec(description?.value ?? '') ?? [];
        if (said !== undefined) inDescriptions[coordinate] = said.replaceAll('`', '').split(' and ');
        for (const { name: directive, arguments: [scopes] = [] } of directives)
          if (directive.value === 'access' && scopes) found[coordinate] = valueFromASTUntyped(scopes.value);
      }
    }
    expect(found).toEqual(NEEDED);
    expect(inDescriptions).toEqual(NEEDED);
  });

  it('has the fields, references and filters of a model file, and is what introspection and the command return', async () => {
    const { body } = await send(service, { path: SDL });
    expect(body).toBe(await buildSdl(readConfig({ DIRECTORY_MODEL: 'sample/model.yaml' })));
    const fields = ['manager: User', 'phone: String', 'mobiles: [String!]', 'reports(', 'room: StringFilter'];
    for (const field of [...fields, 'input IntFilter {']) {
      expect(body).toContain(field);
      expect(readFileSync('schema.graphql', 'utf8')).not.toContain(field);
    }
    const answer = await post(service, {
      query: getIntrospectionQuery({ oneOf: true, specifiedByUrl: true, inputValueDeprecation: true }),
    });
    const introspected = buildClientSchema(dataOf(answer) as unknown as IntrospectionQuery);
    expect(printSchema(lexicographicSortSchema(introspected))).toBe(
      printSchema(lexicographicSortSchema(buildSchema(body))),
    );
  });
});

describe('the pages of a model file', () => {
  let html: string;

  beforeAll(async () => {
    html = await readPages(service);
  });

  const sectionOf = (coordinate: string) =>
    (html.split(` id="${anchorOf(coordinate)}"`)[1] ?? '').split('<h4')[0] ?? '';

  it('have a place for every element', async () => {
    const { body } = await send(service, { path: SDL });
    const anchors = contractElementsOf(buildSchema(body))
      .map(({ coordinate }) => anchorOf(coordinate))
      .filter((anchor) => !['Query', 'Mutation'].includes(anchor));
    expect(anchors).toEqual(
      expect.arrayContaining(['User.manager', 'UserFilter.phone', 'User.reports.first']),
    );
    expect(anchors.filter((anchor) => html.split(` id="${anchor}"`).length !== 2)).toEqual([]);
  });

  it('describe fields, their scopes and their audiences, and the scopes of the model', () => {
    expect(sectionOf('User.jobTitle')).toContain('The position of the person at the school.');
    expect(sectionOf('User.phone')).toContain('Needs the scope <code>contact</code>.');
    expect(sectionOf('UserFilter.phone')).toContain('Needs the scope <code>contact</code>.');
    for (const coordinate of ['Profile.manager', 'User.reports'])
      expect(sectionOf(coordinate)).toContain('Needs the scope <code>read</code>.');
    expect(sectionOf('Profile.mobiles')).toMatch(
      /Needs the scope <code>contact<\/code>\. Only the user and those who are at least ADMIN in a group/,
    );
    expect(html).toMatch(/<code>confidential<\/code><\/td>\n<td>People, groups and members that are hidden/);
  });
});

describe('the pages of the schema', () => {
  let html: string;

  beforeAll(async () => {
    html = await readPages(builtIn);
  });

  it('have a place for every element', () => {
    const anchors = contractElementsOf(schema)
      .map(({ coordinate }) => anchorOf(coordinate))
      .filter((anchor) => !['Query', 'Mutation'].includes(anchor));
    expect(anchors.length).toBeGreaterThan(300);
    expect(anchors.filter((anchor) => html.split(` id="${anchor}"`).length !== 2)).toEqual([]);
  });

  it.each(Object.entries(NEEDED))('contain the requirements: %s', (coordinate, scopes = []) => {
    const [, section = ''] = html.split(` id="${anchorOf(coordinate)}"`);
    const [, output = ''] = /<em>(.+)<\/em>/.exec(section) ?? [];
    expect([...output.matchAll(/<code>(\w+)<\/code>/g)].map(([, scope]) => scope)).toEqual(scopes);
  });
});

describe('the links of the pages', () => {
  const urlOf = (path: string) => `http://reference.test/reference${path}`;
  const all = (html: string, pattern: RegExp) => [...html.matchAll(pattern)].map(([, value = '']) => value);

  it('are not broken', async () => {
    const anchors = new Map<string, string[]>();
    const links = new Set<string>();
    for (const path of PAGES) {
      const { body } = await send(service, { path: `/reference${path}` });
      anchors.set(urlOf(path), all(body, / id="([^"]+)"/g));
      for (const href of all(body, /<a (?:class="\w+" )?href="([^"]+)"/g)) {
        links.add(new URL(href, urlOf(path)).href);
      }
    }
    const specification = 'https://scalars.graphql.org/andimarek/date-time.html';
    const others = ['/', '/explorer', SDL, specification].map((path) => new URL(path, urlOf('')).href);
    const broken = [...links].filter((href) => {
      const [address = '', anchor] = href.split('#');
      const ids = anchors.get(address);
      return ids === undefined ? !others.includes(address) : anchor !== undefined && !ids.includes(anchor);
    });
    expect(links.size).toBeGreaterThan(300);
    expect(broken).toEqual([]);
  });
});

describe('the pages', () => {
  let chromium: Chromium;
  let visit: Visit;
  let page: Page;

  beforeAll(async () => {
    chromium = await Chromium.start();
  });

  afterAll(() => chromium.stop());

  /** Signs in on the page of the explorer, which leaves the page and returns to it. */
  async function signIn(explorer: Page): Promise<void> {
    await explorer.getByLabel('directory').check();
    await explorer.getByRole('button', { name: 'Sign in' }).click();
    await explorer.getByLabel('Your id in the directory').fill('ada.martin');
    await explorer.getByRole('button', { name: 'Continue' }).click();
    await explorer.getByText('60 min left').waitFor();
  }

  const addressOf = (path: string) => `${service.url}/reference${path}`;

  beforeEach(async () => {
    visit = await chromium.visit(service.url, { viewport: { width: 390, height: 844 }, colorScheme: 'dark' });
    page = await visit.open(addressOf(''));
  });

  afterEach(() => visit.end());

  it.each(['', '/queries', '/objects', '/errors'])(
    'are accessible, on a phone, in dark and in light: %s',
    async (path) => {
      if (path !== '') await page.goto(addressOf(path));
      await expectFittingWidth(page);
      await expectAccessible(page);
      await page.emulateMedia({ colorScheme: 'light' });
      await expectAccessible(page);
    },
  );

  it('are found by names, parts of names, and descriptions', async () => {
    await page.keyboard.press('/');
    const field = page.getByRole('searchbox', { name: 'Search' });
    const first = page.locator('#search-results a').first();
    for (const [typed, found] of [
      ['inheritedfrom', 'inheritedFrom'],
      ['nextpage', 'PageInfo.hasNextPage'],
      ['member', 'Group.members'],
      ['memebr', 'Group.members'],
      ['usr', 'user'],
      ['group.members', 'Group.members'],
      ['not found', 'NOT_FOUND'],
      ['ldapmodfy', 'ldif'],
    ] as const) {
      await field.fill(typed);
      await first.filter({ hasText: found }).waitFor();
    }
    await expectAccessible(page);
    await field.fill('xylophone');
    await page.getByText('Nothing found for “xylophone”').waitFor();
    await field.fill('ldapmodfy');
    await first.filter({ hasText: 'ldif' }).waitFor();
    await field.press('ArrowDown');
    await page.keyboard.press('Enter');
    await page.waitForURL(addressOf('/objects#ChangePreview.ldif'));
  });

  it('have examples to copy and to open in the explorer, and mark the current section', async () => {
    await page.setViewportSize({ width: 1200, height: 800 });
    await page.goto(addressOf('/queries#users'));
    await page.locator('.contents a[aria-current="location"]', { hasText: /^users$/ }).waitFor();
    const example = page.locator('#users pre[aria-label="Example of users"]');
    const buttons = page.locator('#users .code-buttons', { has: page.getByText('Open in explorer') });
    await buttons.getByRole('button', { name: 'Copy' }).click();
    await buttons.getByRole('button', { name: 'Copied' }).waitFor();
    expect(await page.evaluate<string>('navigator.clipboard.readText()')).toBe(await example.textContent());
    await buttons.getByRole('link', { name: 'Open in explorer' }).click();
    await page.getByRole('button', { name: 'Execute' }).waitFor();
    expect(new URL(page.url()).hash).toBe('');
    await page.locator('.graphiql-tab').first().getByText('Class').waitFor();
    await signIn(page);
    await page.getByRole('button', { name: 'Execute' }).click();
    await page.locator('.graphiql-response').getByText('"totalCount"').waitFor();
  });

  it('breaks no name within a word, and shows the links to all pages on a phone', async () => {
    for (const path of ['/objects', '/values', '/errors']) {
      for (const width of [390, 1280]) {
        await page.setViewportSize({ width, height: 844 });
        await page.goto(addressOf(path));
        expect(await page.evaluate<string[]>(FIND_BROKEN_WORDS)).toEqual([]);
        await expectFittingWidth(page);
        expect(await page.evaluate<boolean[]>(ARE_IN_WINDOW)).toEqual(Array<boolean>(8).fill(true));
      }
    }
  });

  it('explain every error code at its URL', async () => {
    await page.goto(addressOf('/errors#NO_USER_CONTEXT'));
    expect(await page.locator(':target + p').textContent()).toContain('needs the user of the token');
  });
});

describe('without introspection', () => {
  let secretive: TwinService;

  beforeAll(async () => {
    secretive = await TwinService.start(service, { GRAPHQL_INTROSPECTION: 'false' });
  });

  afterAll(() => secretive.stop());

  it('there is neither the reference nor the schema as text', async () => {
    expect(refusalOf(await send(secretive, { path: SDL }))).toEqual([404, 'NOT_FOUND']);
    for (const path of PAGES.slice(0, -1)) {
      expect((await send(secretive, { path: `/reference${path}` })).status).toBe(404);
    }
  });

  it('there is the page of errors, without names of the schema', async () => {
    const { status, body } = await send(secretive, { path: '/reference/errors' });
    expect(status).toBe(200);
    expect(body).not.toMatch(/href="[^"#]*(queries|objects|schema)/);
    const [, style = ''] = /href="(assets[^"]+)"/.exec(body) ?? [];
    expect((await send(secretive, { path: `/reference/${style}` })).status).toBe(200);
    const entries = style.replace('style.css', 'entries.json');
    expect((await send(builtIn, { path: `/reference/${entries}` })).status).toBe(200);
    expect((await send(secretive, { path: `/reference/${entries}` })).status).toBe(404);
  });
});
