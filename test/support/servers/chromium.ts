import axe from 'axe-core';
import {
  type Browser,
  type BrowserContext,
  type BrowserContextOptions,
  chromium,
  type Page,
} from 'playwright-core';
import { eventually, LONGEST_WAIT } from '../eventually.js';
import { findProgram } from './system-packages.mjs';

/** Scripts of pages are strings, because the types of tests are those of Node.js and not of the DOM. */
const REPORT_VIOLATIONS = `document.addEventListener('securitypolicyviolation', (violation) => noteViolation('Content-Security-Policy: ' + violation.effectiveDirective + ' forbids ' + violation.blockedURI));`;
const FIND_BARRIERS = `axe.run().then(({ violations }) => violations.flatMap(({ id, help, nodes }) =>
  nodes.map(({ target, failureSummary }) => id + ': ' + help + ': ' + target.join(' ') + '; ' + failureSummary)))`;
const MEASURE_OVERHANG = `document.documentElement.scrollWidth - document.documentElement.clientWidth`;

/** One Chromium per suite, because starting it takes longer than most tests. */
export class Chromium {
  private constructor(private readonly browser: Browser) {}

  static async start(): Promise<Chromium> {
    const executablePath = findProgram('chromium');
    if (executablePath === null) throw new Error('Chromium is not installed: npm test installs it first');
    return new Chromium(
      await chromium.launch({ executablePath, args: ['--disable-gpu'], timeout: LONGEST_WAIT }),
    );
  }

  /**
   * Opens a window with cookies and storage of its own.
   * @param url the service; requests to other origins are recorded
   * @param issuer an identity provider that is also allowed
   */
  async visit(url: string, options: BrowserContextOptions = {}, issuer = url): Promise<Visit> {
    const context = await this.browser.newContext({
      permissions: ['clipboard-read', 'clipboard-write'],
      ...options,
    });
    context.setDefaultTimeout(LONGEST_WAIT);
    return Visit.begin(
      context,
      [url, issuer].map((each) => new URL(each).origin),
    );
  }

  stop(): Promise<void> {
    return this.browser.close();
  }
}

/** A window with one or more pages, and the problems that occur in it. */
export class Visit {
  /** URLs of requests to other origins. */
  readonly foreign: string[] = [];
  /** Console errors, exceptions, and violations of the Content-Security-Policy. */
  readonly complaints: string[] = [];

  private constructor(
    readonly context: BrowserContext,
    private readonly origins: readonly string[],
  ) {}

  static async begin(context: BrowserContext, origins: readonly string[]): Promise<Visit> {
    const visit = new Visit(context, origins);
    context.on('request', (request) => {
      if (!visit.isOwn(request.url())) visit.foreign.push(request.url());
    });
    context.on('console', (message) => {
      if (message.type() === 'error') visit.complaints.push(`${message.text()} (${message.location().url})`);
    });
    context.on('weberror', (error) => visit.complaints.push(String(error.error())));
    await context.exposeBinding('noteViolation', (_source, violation: string) =>
      visit.complaints.push(violation),
    );
    await context.addInitScript({ content: REPORT_VIOLATIONS });
    return visit;
  }

  /** Opens another page in the window. */
  async open(url: string): Promise<Page> {
    const page = await this.context.newPage();
    await page.goto(url);
    return page;
  }

  /**
   * Removes an expected problem, such as an error status. Fails if it does not occur; waits for it, because the browser reports
   * it asynchronously.
   */
  async forgive(pattern: RegExp): Promise<void> {
    const find = () => this.complaints.findIndex((complaint) => pattern.test(complaint));
    await eventually(() => Promise.resolve(find() >= 0), true);
    this.complaints.splice(find(), 1);
  }

  /** Closes the window, and fails if there were requests to other origins or problems. */
  async end(): Promise<void> {
    const { foreign, complaints } = this;
    await this.context.close();
    expect({ foreign, complaints }).toEqual({ foreign: [], complaints: [] });
  }

  private isOwn(url: string): boolean {
    return /^(data|blob|about):/.test(url) || this.origins.includes(new URL(url).origin);
  }
}

/** Signs in at the page of the embedded provider, which accepts any password, and agrees. */
export async function signInAt(page: Page, id: string): Promise<void> {
  await page.getByPlaceholder('Enter any login').fill(id);
  await expectAccessible(page);
  await page.getByPlaceholder('and password').fill('any');
  await page.getByRole('button', { name: 'Sign-in' }).click();
  const agree = page.getByRole('button', { name: 'Continue' });
  await agree.waitFor();
  await expectAccessible(page);
  await agree.click();
}

/** Fails if axe-core finds accessibility violations in the current state of the page. */
export async function expectAccessible(page: Page): Promise<void> {
  // Evaluated through the debugger, because the policy of the page forbids it.
  await page.evaluate(axe.source);
  expect(await page.evaluate(FIND_BARRIERS)).toEqual([]);
}

/** Fails if the page is wider than its window, so that users have to scroll horizontally. */
export async function expectFittingWidth(page: Page): Promise<void> {
  expect(await page.evaluate(MEASURE_OVERHANG)).toBe(0);
}
