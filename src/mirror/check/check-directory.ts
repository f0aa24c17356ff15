import { codeOf, type Finding, ok, problem, warning } from '../../common/finding.js';
import { mappingOf } from '../../config/model/mapping.js';
import type {
  DirectoryConfig,
  FileSourceConfig,
  LdapServerConfig,
  LdapSourceConfig,
} from '../../config/settings/directory.js';
import { type LdapConnection, readOne, ANY_ENTRY } from '../../ldap/client/ldap-connection.js';
import { LdapError, LdapResultError } from '../../ldap/client/ldap-error.js';
import { readPaged } from '../../ldap/client/paged-search.js';
import { readRootDse } from '../../ldap/client/server-kind.js';
import { LdifError } from '../../ldap/ldif/ldif.js';
import { uuidOfEntry } from '../../ldap/naming/identifiers.js';
import { chooseHints } from '../../sources/ldap/hints.js';
import { connectTo, passwordRisk } from '../../sources/ldap/ldap-servers.js';
import { ServerDirectory } from '../../sources/ldap/server-directory.js';
import { FileDirectory } from '../../sources/file-directory.js';
import { SourceError } from '../../sources/directory.js';
import { type EntryKind, KINDS } from '../../sources/source.js';
import { CountedEntries } from './counted-entries.js';
import { PLURALS } from './counted-kind.js';

/** Called at intervals with the number of entries that have been read. */
type Progress = (entries: number) => void;
/** Number of entries between two progress reports. */
const PROGRESS_INTERVAL = 1000;

/** The name of the findings about all servers. */
const SERVERS = 'directory servers';

const ENCRYPTION = {
  none: 'not encrypted',
  starttls: 'encrypted by StartTLS',
  ldaps: 'encrypted (ldaps)',
} as const satisfies Record<LdapServerConfig['security'], string>;

/**
 * Checks that a directory server provides everything that the service needs, with the same kinds of requests
 * that the service uses. All findings are reported together.
 * @throws InvalidFilterError when a configured filter is malformed; the signal's reason
 */
export async function checkDirectory(
  config: DirectoryConfig,
  source: LdapSourceConfig,
  signal: AbortSignal,
  progress: Progress = () => undefined,
): Promise<Finding[]> {
  const risk = passwordRisk(source);
  const findings = risk === null ? [] : [warning('directory password', risk)];
  const first = await enterAll(source, signal, findings);
  if (first === null) return findings;
  const { connection } = first;
  findings.push(ok('directory account', source.bind?.dn ?? 'none, the connection is anonymous'));
  try {
    const directory = new ServerDirectory(config, connection);
    const check = new DirectoryCheck(config, directory, signal, progress);
    for await (const finding of check.run()) findings.push(finding);
    const others = compareServers(source, directory, first.server, signal);
    for await (const finding of others) findings.push(finding);
  } catch (error) {
    if (!(error instanceof LdapError)) throw error;
    findings.push(problem('directory server', error.message, error.name));
  } finally {
    connection.close();
  }
  return findings;
}

interface ConnectedServer {
  readonly connection: LdapConnection;
  readonly server: LdapServerConfig;
}

/**
 * Checks every server, because each may have to replace the others.
 * @returns a connection to the first server that accepts the account; null when none does
 */
async function enterAll(
  source: LdapSourceConfig,
  signal: AbortSignal,
  findings: Finding[],
): Promise<ConnectedServer | null> {
  let first: ConnectedServer | null = null;
  for (const server of source.servers) {
    let connection: LdapConnection | null = null;
    try {
      connection = await connectTo(source, server, signal);
      findings.push(await describeServer(connection, server));
      first ??= { connection, server };
    } catch (error) {
      connection?.close();
      if (!(error instanceof LdapError)) first?.connection.close();
      findings.push(explainConnectionFailure(error, server));
    }
    if (connection !== first?.connection) connection?.close();
  }
  return first;
}

/** A server that rejects the account is available; the problem is the account. */
function explainConnectionFailure(error: unknown, { url }: LdapServerConfig): Finding {
  if (!(error instanceof LdapError)) throw error;
  return error instanceof LdapResultError
    ? problem('directory account', error.message, error.codeName)
    : problem('directory server', `${url}: ${error.message}`, codeOf(error) ?? error.name);
}

async function describeServer(
  connection: LdapConnection,
  { url, security }: LdapServerConfig,
): Promise<Finding> {
  const { vendorName, vendorVersion, kind } = await readRootDse(connection);
  // Active Directory publishes no vendor.
  const unnamed = kind === 'other' ? 'of an unknown kind' : kind;
  // FreeIPA publishes the vendor of 389 Directory Server.
  const isNamed = vendorName === null || kind === 'other' || vendorName.toLowerCase() === kind;
  const vendor = [vendorName ?? unnamed, vendorVersion ?? '', isNamed ? '' : `(${kind})`]
    .filter((part) => part !== '')
    .join(' ');
  return ok('directory server', `${url}, ${ENCRYPTION[security]}, ${vendor}`);
}

/**
 * Reads a directory file completely, as the service does.
 * @param progress called at intervals with the number of entries that have been read
 */
export async function checkFile(
  config: DirectoryConfig,
  source: FileSourceConfig,
  progress: Progress = () => undefined,
): Promise<Finding[]> {
  const what = 'directory file';
  const entries = new CountedEntries(config);
  try {
    for await (const page of new FileDirectory(config, source).scan()) {
      for (const { kind, entry } of page) entries.add(kind, entry);
      progress(entries.total);
    }
  } catch (error) {
    if (error instanceof LdifError || error instanceof SourceError)
      return [problem(what, `${source.file}: ${error.message}`)];
    throw error;
  }
  const ofKinds = KINDS.flatMap((kind) => [...entries.describe(kind)]);
  return [ok(what, source.file), ...ofKinds, ...(await entries.findings(null))];
}

class DirectoryCheck {
  private readonly entries: CountedEntries;
  private readonly connection: LdapConnection;

  constructor(
    private readonly config: DirectoryConfig,
    private readonly directory: ServerDirectory,
    private readonly signal: AbortSignal,
    private readonly progress: Progress,
  ) {
    this.entries = new CountedEntries(config);
    this.connection = directory.connection;
  }

  async *run(): AsyncGenerator<Finding> {
    const missing = yield* this.findMissingBases();
    let isWhole = missing.size === 0;
    for (const kind of KINDS) {
      const { bases } = mappingOf(this.config.mapping, kind);
      if (bases.some((base) => missing.has(base))) continue;
      const trouble = await this.read(kind);
      isWhole &&= trouble === null;
      yield* trouble === null ? this.entries.describe(kind) : [trouble];
    }
    // Missing references can only be determined if everything was read.
    if (isWhole) yield* await this.entries.findings((dn) => this.sees(dn));
    if (missing.size === 0) yield* this.describeChanges();
  }

  /**
   * Counts the entries with the kind of request that the service will use, because the limits of an account
   * differ between kinds.
   * @returns why they cannot be read; null when all were read
   */
  private async read(kind: EntryKind): Promise<Finding | null> {
    const { connection, directory, entries, signal } = this;
    const request = { ...directory.searches[kind], attributes: entries.attributesOf(kind) };
    try {
      for await (const entry of readPaged(connection, request, { signal })) {
        if (!directory.covers(kind, entry.dn)) continue;
        entries.add(kind, entry);
        if (entries.total % PROGRESS_INTERVAL === 0) this.progress(entries.total);
      }
      return null;
    } catch (error) {
      if (!(error instanceof LdapResultError)) throw error;
      const text = `${entries.totalOf(kind)} were read, and then: ${error.message}`;
      return problem(PLURALS[kind], text, error.codeName);
    }
  }

  private async sees(dn: string): Promise<boolean> {
    try {
      return (await readOne(this.connection, dn, ['1.1'], { signal: this.signal })) !== null;
    } catch (error) {
      // Such as a DN that the server does not accept.
      if (error instanceof LdapResultError) return false;
      throw error;
    }
  }

  private async *findMissingBases(): AsyncGenerator<Finding, ReadonlySet<string>> {
    const { users, groups } = this.config.mapping;
    const missing = new Set<string>();
    for (const dn of new Set([this.config.baseDn, ...users.bases, ...groups.bases])) {
      const absence = await this.findAbsence(dn);
      if (absence === null) continue;
      missing.add(dn);
      yield problem('directory bases', `${dn}: ${absence}`);
    }
    if (missing.size === 0) yield ok('directory bases', 'all of them exist');
    return missing;
  }

  /** The reason why an entry is not found; null when it exists. */
  private async findAbsence(dn: string): Promise<string | null> {
    try {
      const request = { base: dn, scope: 'base', filter: ANY_ENTRY, attributes: ['1.1'] } as const;
      const messages = this.connection.search(request, { signal: this.signal });
      // Only an error counts: the entry itself may be hidden from an account that can read those below it.
      for await (const { kind } of messages) if (kind === 'done') break;
      return null;
    } catch (error) {
      if (error instanceof LdapResultError)
        return `${error.message}: it does not exist, or the account may not read it`;
      throw error;
    }
  }

  private async *describeChanges(): AsyncGenerator<Finding> {
    const { directory, config } = this;
    const { total, dated } = this.entries;
    try {
      await directory.begin(chooseHints, this.signal);
    } catch (error) {
      if (!(error instanceof SourceError)) throw error;
      yield problem('changes', error.message);
      return;
    }
    const refusals = directory.refusals.map((text) => `. ${text}`).join('');
    if (directory.mode === 'PUSHED') yield ok('changes', `the server pushes them (RFC 4533)${refusals}`);
    else if (directory.mode === 'COUNTED')
      yield ok(
        'changes',
        `the server numbers them, and is asked for the latest number every second${refusals}`,
      );
    else {
      const text = `asked for every ${config.syncSeconds} s${refusals}`;
      yield dated === total
        ? ok('changes', text)
        : warning(
            'changes',
            `${text}. The account sees no ${config.mapping.users.modifiedAt} in ${total - dated} of ${total} entries: only a scan finds their changes`,
          );
    }
  }
}

/** What the servers of one directory have in common. */
interface Content {
  readonly url: string;
  readonly directory: ServerDirectory;
  /** The identity of the base DN, which replication keeps; null when the account does not see it. */
  readonly base: string | null;
  /** The identities of all users and groups. */
  readonly identities: ReadonlySet<string>;
}

/**
 * Compares the contents of all servers of DIRECTORY_URL with those of one: each may have to replace the others, and the mirror
 * would follow another content. Servers that are not available are left out.
 * @param directory that of the server `first`, and begun
 * @throws the signal's reason
 */
async function* compareServers(
  source: LdapSourceConfig,
  directory: ServerDirectory,
  first: LdapServerConfig,
  signal: AbortSignal,
): AsyncGenerator<Finding> {
  const others = source.servers.filter((server) => server !== first);
  let known: Content | null = null;
  for (const server of others.length === 0 ? [] : [first, ...others]) {
    const found = server === first ? directory : await openOther(server, { source, directory, signal });
    if (found === null) continue;
    try {
      if (found !== directory) await found.begin(chooseHints, signal);
      const content = await readContent(server.url, found);
      if (known === null) known = content;
      else yield* describeDifference(known, content);
    } catch (error) {
      if (!(error instanceof LdapError || error instanceof SourceError)) throw error;
      yield warning(SERVERS, `${server.url}: its content could not be compared: ${error.message}`);
      if (found === directory) return;
    } finally {
      if (found !== directory) found.connection.close();
    }
  }
}

interface Opening {
  readonly source: LdapSourceConfig;
  readonly directory: ServerDirectory;
  readonly signal: AbortSignal;
}

async function openOther(server: LdapServerConfig, opening: Opening): Promise<ServerDirectory | null> {
  const { source, directory, signal } = opening;
  try {
    return new ServerDirectory(directory.config, await connectTo(source, server, signal));
  } catch (error) {
    if (error instanceof LdapError) return null;
    throw error;
  }
}

async function readContent(url: string, directory: ServerDirectory): Promise<Content> {
  const entry = await readOne(directory.connection, directory.config.baseDn, [directory.uuid]);
  const identities = new Set<string>();
  for await (const page of directory.scan(false)) for (const { uuid } of page) identities.add(uuid);
  return { url, directory, base: entry === null ? null : uuidOfEntry(entry, directory.uuid), identities };
}

/** Describes how the content of a server differs from that of the first one. */
async function* describeDifference(first: Content, other: Content): AsyncGenerator<Finding> {
  const { baseDn } = first.directory.config;
  const missing = [...first.identities].filter((uuid) => !other.identities.has(uuid)).length;
  const added = [...other.identities].filter((uuid) => !first.identities.has(uuid)).length;
  const counts = `${missing} users and groups of ${first.url} are missing there, and ${added} are only there`;
  if (first.base !== null && other.base !== null && first.base !== other.base)
    yield problem(
      SERVERS,
      `${other.url} has another directory than ${first.url}: ${baseDn} has another identity. ${counts}`,
    );
  else if (await lacks(other, first))
    yield warning(SERVERS, `${other.url} lags behind ${first.url} by its contextCSN. ${counts}`);
  else if (await lacks(first, other))
    yield warning(SERVERS, `${first.url} lags behind ${other.url} by its contextCSN. ${counts}`);
  else if (missing + added === 0)
    yield ok(SERVERS, `${other.url} has the same ${first.identities.size} users and groups as ${first.url}`);
  else
    yield problem(
      SERVERS,
      `${other.url} has other content than ${first.url}, or one of them lags. ${counts}`,
    );
  for (const { url, directory } of [first, other])
    if (directory.contextCsns.length === 0)
      yield warning(
        SERVERS,
        `${url} does not show which changes of the others it has: it is not known whether it lags`,
      );
}

async function lacks({ directory }: Content, known: Content): Promise<boolean> {
  return (await directory.describeLag(known.directory.contextCsns)) !== null;
}
