import axe from 'axe-core';
import {
  type Browser,
  type BrowserContext,
  type BrowserContextOptions,
  chromium,
  type Page,
} from 'playwright-core';
import { eventually } from '../eventually.js';
import { findProgram } from './system-packages.mjs';

/** What runs in a page is text: tests know the names of Node.js, and pages those of the DOM. */
const TELL_VIOLATIONS = `document.addEventListener('securitypolicyviolation', (violation) => {
  noteViolation('Content-Security-Policy: ' + violation.effectiveDirective + ' forbids ' + violation.blockedURI);
});`;
const FIND_BARRIERS = `axe.run().then(({ violations }) => violations.flatMap(({ id, help, nodes }) =>
  nodes.map(({ target, failureSummary }) => id + ': ' + help + ': ' + target.join(' ') + '; ' + failureSummary)))`;
const MEASURE_OVERHANG = `document.documentElement.scrollWidth - document.documentElement.clientWidth`;

/** One Chromium for a suite: starting it takes longer than most tests. */
export class Chromium {
  private constructor(private readonly browser: Browser) {}

  static async start(): Promise<Chromium> {
    const executablePath = findProgram('chromium');
    if (executablePath === null) throw new Error('Chromium is not installed: npm test installs it first');
    return new Chromium(await chromium.launch({ executablePath, args: ['--disable-gpu'] }));
  }

  /**
   * A window without a past: cookies and storage are its own.
   * @param url of the service whose pages are visited; requests to another origin are noted
   * @param issuer whom the service may send people to
   */
  async visit(url: string, options: BrowserContextOptions = {}, issuer = url): Promise<Visit> {
    const context = await this.browser.newContext({
      permissions: ['clipboard-read', 'clipboard-write'],
      ...options,
    });
    return Visit.begin(
      context,
      [url, issuer].map((each) => new URL(each).origin),
    );
  }

  stop(): Promise<void> {
    return this.browser.close();
  }
}

/** What somebody does in one window, with one or more pages, and what goes wrong meanwhile. */
export class Visit {
  /** Requests that left the service, by their URL. */
  readonly foreign: string[] = [];
  /** What a page complained of: errors of the console, exceptions, and violations of its Content-Security-Policy. */
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
    await context.exposeBinding('noteViolation', (_source, violation: string) => {
      visit.complaints.push(violation);
    });
    await context.addInitScript({ content: TELL_VIOLATIONS });
    return visit;
  }

  /** Opens another page in the window. */
  async open(url: string): Promise<Page> {
    const page = await this.context.newPage();
    await page.goto(url);
    return page;
  }

  /**
   * Takes back what a page has rightly complained of, such as an answer that was to be an error. Fails where it has not,
   * and waits for it: the browser tells of it by itself, and not always before the page shows something.
   */
  async forgive(pattern: RegExp): Promise<void> {
    const find = () => this.complaints.findIndex((complaint) => pattern.test(complaint));
    await eventually(() => Promise.resolve(find() >= 0), true);
    this.complaints.splice(find(), 1);
  }

  /** Closes the window, and fails where a page has left the service or complained. */
  async end(): Promise<void> {
    const { foreign, complaints } = this;
    await this.context.close();
    expect({ foreign, complaints }).toEqual({ foreign: [], complaints: [] });
  }

  private isOwn(url: string): boolean {
    return /^(data|blob|about):/.test(url) || this.origins.includes(new URL(url).origin);
  }
}

/** Fails where axe-core finds what keeps people from using the page, as it stands now. */
export async function expectAccessible(page: Page): Promise<void> {
  // Evaluated by the debugger, and not by the page, whose policy would forbid it.
  await page.evaluate(axe.source);
  expect(await page.evaluate(FIND_BARRIERS)).toEqual([]);
}

/** Fails where something reaches over the edge, and people would have to scroll sideways. */
export async function expectFittingWidth(page: Page): Promise<void> {
  expect(await page.evaluate(MEASURE_OVERHANG)).toBe(0);
}
