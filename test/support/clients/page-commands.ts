import { cpSync, mkdtempSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { commandBlocksOf } from '../builders/documents.js';
import type { ExternalIssuerProcess } from '../servers/external-issuer.js';
import { InstalledSlapd } from '../servers/installed-slapd.js';
import { findFreePort } from '../servers/postgres.mjs';
import type { ServiceProcess } from '../servers/service-processes.js';
import { MIRROR_DN, MIRROR_PASSWORD, ROOT_PASSWORD, SUFFIX } from '../servers/slapd.mjs';
import { createDatabase, type TestDatabase, variable } from '../servers/store.js';
import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';

/** Milliseconds, more than any command of a page takes. */
const TIMEOUT_MS = 600_000;

/** A bash that receives commands one after the other, like the shell of a reader; variables persist. */
class Shell {
  private readonly child: ChildProcessWithoutNullStreams;
  private stdout = '';
  private stderr = '';
  private hasEnded = false;
  private notice: () => void = () => undefined;

  /** @param environment the whole environment */
  constructor(directory: string, environment: Record<string, string | undefined>) {
    const options = { cwd: directory, env: environment, detached: true };
    this.child = spawn('bash', ['--noprofile', '--norc', '-s'], options);
    this.child.stdout.setEncoding('utf8').on('data', (text: string) => {
      this.stdout += text;
      this.notice();
    });
    this.child.stderr.setEncoding('utf8').on('data', (text: string) => (this.stderr += text));
    this.child.once('close', () => {
      this.hasEnded = true;
      this.notice();
    });
  }

  /**
   * Runs commands, and returns their standard output.
   * @throws Error with the whole output if a command fails
   */
  async run(commands: string): Promise<string> {
    const mark = randomUUID();
    this.stdout = '';
    this.stderr = '';
    // Commands that read standard input must not consume the next ones.
    this.child.stdin.write(`set -e\n{\n${commands}\n} < /dev/null\nset +e\necho ${mark}\n`);
    const timeout = setTimeout(() => this.end(), TIMEOUT_MS);
    while (!this.stdout.includes(`${mark}\n`) && !this.hasEnded) {
      await new Promise<void>((resolve) => (this.notice = resolve));
    }
    clearTimeout(timeout);
    if (this.hasEnded) throw new Error(`It failed:\n${commands}\n\n${this.stdout}${this.stderr}`);
    return this.stdout.replace(`${mark}\n`, '');
  }

  /** What the last commands wrote to standard error, which is not complete if processes of theirs still run. */
  get errors(): string {
    return this.stderr;
  }

  /** Ends the shell and all processes that it has started. */
  end(): void {
    if (this.child.pid !== undefined && !this.hasEnded) process.kill(-this.child.pid, 'SIGKILL');
  }
}

/** Servers and settings of all pages. */
export interface CommandEnvironment {
  /** A service with the sample directory and its embedded identity provider. */
  readonly service: ServiceProcess;
  readonly issuer: ExternalIssuerProcess;
  /** A service of its own. */
  readonly database: TestDatabase;
}

/** Additional servers of a page: a directory server (`stock`: with people, without a certificate), or an empty database. */
export interface Needs {
  readonly slapd?: 'bare' | 'stock' | 'with people';
  readonly ownDatabase?: boolean;
}

/** Functions for commands that work differently here, because there is no `sudo` or because they would not end. */
const PRELUDE = `
# Without npm, which takes half a second per command.
npm() {
  case "$*" in
    start) serve_once 'Ready at' node dist/bundled/main.js ;;
    'run dev --workspace '*) serve_once Local env npm "$@" ;;
    *) command npm "$@" ;;
  esac
}
# No client of PostgreSQL is installed.
psql() {
  node --input-type=module -e "
    import pg from 'pg';
    const client = new pg.Client({ database: 'postgres' });
    await client.connect();
    await client.query(process.argv.at(-1));
    await client.end();
  " -- "$@"
}
# The servers of the tests accept the current user. Commands that would change the machine are not run.
sudo() {
  if [ "$1" = -u ]; then shift 2; fi
  case "$1" in
    psql | ldapadd | ldapmodify | ldap/* | ./directory) "$@" ;;
    *) echo "Not here: $1" >&2; return 1 ;;
  esac
}
# The machine of the tests has no such users, and their files belong to the current one.
chown() {
  case "$1" in openldap: | directory:) shift; ls "$@" > /dev/null ;; *) echo "Unknown user: $1" >&2; return 1 ;; esac
}
# Starts what the unit starts, and leaves it running. Pages do not test how it ends.
systemctl() {
  export PORT=$FREE_PORT
  grep -q '^User=directory$' directory.service
  start_until 'Ready at' $(sed -n 's|^ExecStart=/usr/local/bin/||p' directory.service)
}
serve_once() { PORT=$FREE_PORT start_until "$@"; kill -KILL $SERVED; }
start_until() {
  local awaited=$1 line said=; shift
  exec {serving}< <(exec "$@" 2>&1); SERVED=$!
  while read -r line <&$serving; do
    said+=$line$'\\n'
    case $line in *"$awaited"*) return ;; esac
  done
  printf %s "$said" >&2
  return 1
}
`;

/** A shell in a copy of the project, in which the host names of the pages lead to servers of the tests. */
export class PageShell {
  private constructor(
    private readonly shell: Shell,
    private readonly names: readonly (readonly [string, string])[],
    private readonly end: () => Promise<void>,
  ) {}

  static async open(surroundings: CommandEnvironment, needs: Needs): Promise<PageShell> {
    const directory = copyProject();
    const slapd = needs.slapd === undefined ? null : await startSlapd(needs.slapd);
    const own = needs.ownDatabase === true ? await createDatabase() : null;
    const database = (own ?? surroundings.database).url;
    const server = new URL(database);
    const port = String(await findFreePort());
    const writesSettings = needs.slapd === 'bare' || needs.slapd === 'stock';
    // Files that the reader of a page writes.
    if (needs.slapd !== 'bare') writeFileSync(join(directory, 'mirror-password'), MIRROR_PASSWORD);
    writeFileSync(join(directory, 'change.ldif'), shownLdif());
    const shell = new Shell(directory, {
      PATH: `${process.env.PATH ?? ''}:/usr/sbin`,
      HOME: directory,
      TMPDIR: process.env.TMPDIR,
      NO_COLOR: '1',
      SERVICE_URL: urlOf(surroundings.service),
      FREE_PORT: port,
      PGHOST: server.hostname,
      PGPORT: server.port,
      PGUSER: 'postgres',
      // A page that sets up the server makes its certificate, too.
      DIRECTORY_CA_FILE: needs.slapd === 'with people' ? slapd?.authority : undefined,
      LDAPURI: slapd?.socket,
      // A page that writes its own settings keeps them.
      DATABASE_URL: writesSettings ? undefined : database,
    });
    await shell.run(PRELUDE);
    const isServing = needs.slapd === 'bare' ? `http://127.0.0.1:${port}` : urlOf(surroundings.service);
    const names = [
      ['http://127.0.0.1:3000', isServing],
      ['ldap://ldap.example.org', slapd?.url ?? ''],
      ['ldap://directory.example.org', slapd?.url ?? ''],
      ['ldapi:///', slapd?.socket ?? ''],
      ['ldap.example.org', 'localhost'],
      ['/etc/ldap/server.', `${directory}/server.`],
      ['/etc/systemd/system/', `${directory}/`],
      ['/run/secrets/ldap', 'mirror-password'],
      ["'…' > ldap-password", `'${MIRROR_PASSWORD}' > ldap-password`],
      ['postgres://directory:…@db.example.org/directory', database],
      // A user that one page creates and others refer to.
      ...(needs.slapd === 'bare'
        ? []
        : [
            ['directory:change-me@db.example.org', `postgres@${server.host}`] as const,
            ['--owner directory ', '--owner postgres '] as const,
          ]),
      ['@db.example.org/', `@${server.host}/`],
      ['@localhost/', `@${server.host}/`],
      ['https://login.example.org', surroundings.issuer.url],
      [' -W ', ` -w ${ROOT_PASSWORD} `],
    ] as const;
    return new PageShell(shell, names, async () => {
      shell.end();
      slapd?.stop();
      await own?.drop();
    });
  }

  run(commands: string): Promise<string> {
    return this.shell.run(this.names.reduce((text, [name, here]) => text.replaceAll(name, here), commands));
  }

  /** What the last commands wrote to standard error. */
  get errors(): string {
    return this.shell.errors;
  }

  close(): Promise<void> {
    return this.end();
  }
}

export function urlOf(service: ServiceProcess): string {
  return `http://127.0.0.1:${service.port}`;
}

/** Directories that commands write to are copied; all others are linked. */
function copyProject(): string {
  const directory = mkdtempSync(join(variable('TEST_WORK_DIRECTORY'), 'page-'));
  const linked = 'node_modules sample package.json tsconfig.json ormconfig.ts schema.graphql ldap bench';
  for (const name of linked.split(' ')) symlinkSync(join(process.cwd(), name), join(directory, name));
  for (const name of ['src', 'deploy', 'examples', 'dist', 'bin'])
    cpSync(name, join(directory, name), { recursive: true });
  symlinkSync('bin/directory', join(directory, 'directory'));
  return directory;
}

/** Debian's package creates the suffix only. The test adds a certificate, users and an account with read access. */
function startSlapd(kind: 'bare' | 'stock' | 'with people'): Promise<InstalledSlapd> {
  if (kind === 'bare') return InstalledSlapd.start();
  const sample = readFileSync('sample/directory.ldif', 'utf8');
  const [ada = ''] = /^dn: uid=ada\.martin,[^]*?\n\n/m.exec(sample) ?? [];
  const club = `dn: cn=chess-club,ou=groups,${SUFFIX}
objectClass: groupOfNames
cn: chess-club
member: uid=ada.martin,ou=people,${SUFFIX}
`;
  const units = ['people', 'groups'].map(
    (name) => `dn: ou=${name},${SUFFIX}\nobjectClass: organizationalUnit\nou: ${name}\n`,
  );
  const account = `dn: ${MIRROR_DN}
objectClass: organizationalRole
objectClass: simpleSecurityObject
cn: mirror
userPassword: ${MIRROR_PASSWORD}
`;
  const ldif = [...units, account, ada, club].join('\n');
  return InstalledSlapd.start({ ldif, schema: 'ldap/directory.ldif', hasCertificate: kind !== 'stock' });
}

/** The change of docs/clients.md, which other pages apply. */
function shownLdif(): string {
  const shown = commandBlocksOf('docs/clients.md').find(({ output }) => output?.language === 'ldif');
  return `${shown?.output?.text ?? ''}\n`;
}
