/**
 * Follows redirects, submits forms and keeps cookies by name and path, like a browser without scripts. chromium.ts has a real
 * browser.
 */
export class FormBrowser {
  private readonly cookies = new Map<string, { path: string; pair: string }>();

  /** @param headers sent with every request */
  constructor(
    private readonly origin: string,
    private readonly headers: Readonly<Record<string, string>> = {},
  ) {}

  /** The first response that is not a redirect within the provider. */
  async open(url: string, form?: Record<string, string>): Promise<{ url: string; response: Response }> {
    const { pathname } = new URL(url);
    const sent = [...this.cookies.values()].filter(({ path }) => `${pathname}/`.startsWith(`${path}/`));
    const response = await fetch(url, {
      redirect: 'manual',
      headers: { ...this.headers, cookie: sent.map(({ pair }) => pair).join('; '), accept: 'text/html' },
      ...(form === undefined ? {} : { method: 'POST', body: new URLSearchParams(form) }),
    });
    for (const line of response.headers.getSetCookie()) this.keep(line);
    const location = response.headers.get('location');
    const target = location === null ? '' : new URL(location, url).href;
    return target.startsWith(this.origin) ? this.open(target) : { url, response };
  }

  /** Signs in at the page of the embedded provider, and agrees. */
  async signIn(page: string, id: string): Promise<{ url: string; response: Response }> {
    const consent = await this.open(page, { prompt: 'login', login: id });
    return consent.response.status === 200 ? this.open(consent.url, { prompt: 'consent' }) : consent;
  }

  private keep(line: string): void {
    const [pair = '', ...attributes] = line.split('; ');
    const path = attributes.find((attribute) => attribute.startsWith('path='))?.slice(5) ?? '/';
    this.cookies.set(`${pair.split('=')[0] ?? ''} ${path}`, { path: path.replace(/\/$/, ''), pair });
  }
}
