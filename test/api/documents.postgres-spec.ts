import { type CommandBlock, commandBlocksOf, pagesWithCommands } from '../support/builders/documents.js';
import { ExternalIssuerProcess } from '../support/servers/external-issuer.js';
import { FormBrowser } from '../support/clients/form-browser.js';
import { type Needs, PageShell, type CommandEnvironment, urlOf } from '../support/clients/page-commands.js';
import { ServiceProcess } from '../support/servers/service-processes.js';
import { createDatabase } from '../support/servers/store.js';

const NEEDS: Readonly<Record<string, Needs>> = {
  // A server as its package installs it: without TLS, and without an overlay.
  'README.md': { slapd: 'stock' },
  'CONTRIBUTING.md': { ownDatabase: true },
  'docs/README.md': { slapd: 'stock' },
  'docs/install.md': { slapd: 'bare', ownDatabase: true },
  'docs/ldap.md': { slapd: 'with people', ownDatabase: true },
  'docs/clients.md': { slapd: 'with people', ownDatabase: true },
  'ldap/README.md': { slapd: 'bare', ownDatabase: true },
};

/** Effects of the last commands of a page. */
const LAST_OUTPUT: Readonly<Record<string, RegExp>> = {
  // The account is in the database of the settings.
  'README.md': /^Service account reports is created in the embedded database in \S+\/\.data\/own\./m,
};

describe('the commands of the pages', () => {
  let environment: CommandEnvironment;

  beforeAll(async () => {
    const database = await createDatabase();
    const [issuer, service] = await Promise.all([
      ExternalIssuerProcess.start(),
      ServiceProcess.start({ DATABASE_URL: database.url }),
    ]);
    environment = { database, issuer, service };
  });

  afterAll(async () => {
    const { database, issuer, service } = environment;
    await Promise.all([issuer.stop(), service.process.kill('SIGKILL')]);
    await database.drop();
  });

  it.each(pagesWithCommands().filter((page) => runnable(page).length > 0))('%s', async (page) => {
    const shell = await PageShell.open(environment, NEEDS[page] ?? {});
    try {
      let output = '';
      for (const block of runnable(page)) {
        const text = await fillIn(block.text, output);
        try {
          output = await shell.run(text);
          if (block.output !== null) expectOutput(output, block.output);
        } catch (error) {
          throw new Error(`${page}:${block.line}: ${String(error)}\n${shell.errors}`, { cause: error });
        }
      }
      expect(output).toMatch(LAST_OUTPUT[page] ?? '');
    } finally {
      await shell.close();
    }
  });

  it('are served without a warning of Node.js', () =>
    expect(environment.service.process.stderr).not.toMatch(/Warning/));

  /** Placeholders that a reader replaces by earlier output: `NAME=…`. */
  async function fillIn(text: string, output: string): Promise<string> {
    const [line, name = ''] = /^([A-Z_]+)=….*$/m.exec(text) ?? [];
    const take = TAKEN[name];
    if (line === undefined) return text;
    if (take === undefined) throw new Error(`No value is known for ${name}`);
    return text.replace(line, `${name}='${await take(output)}'`);
  }

  const TAKEN: Readonly<Record<string, (output: string) => Promise<string> | string>> = {
    TOKEN: () => environment.service.authorization.slice('Basic '.length),
    DEVICE_CODE: async (output) => {
      const device = JSON.parse(output) as Record<string, string>;
      const browser = new FormBrowser(urlOf(environment.service));
      const { url, response } = await browser.open(device['verification_uri_complete'] ?? '');
      const secret = /name="xsrf" value="([^"]+)"/.exec(await response.text())?.[1] ?? '';
      const confirmed = { xsrf: secret, user_code: device['user_code'] ?? '', confirm: 'yes' };
      const question = await browser.open(url.replace(/\?.*/, ''), confirmed);
      await browser.signIn(question.url, 'anna.svensson');
      return device['device_code'] ?? '';
    },
  };
});

function runnable(page: string): CommandBlock[] {
  return commandBlocksOf(page).filter(({ reason }) => reason === null);
}

function expectOutput(output: string, shown: { language: string; text: string }): void {
  if (shown.language === 'json') expect(JSON.parse(output)).toEqual(JSON.parse(shown.text));
  else expect(output.trim()).toBe(shown.text.trim());
}
