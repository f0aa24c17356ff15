import { codeOf, type Finding, ok, problem, warning } from '../../common/finding.js';
import { mappingOf } from '../../config/model/mapping.js';
import type {
  DirectoryConfig,
  FileSourceConfig,
  LdapServerConfig,
  LdapSourceConfig,
} from '../../config/settings/directory.js';
import { ANY_ENTRY, type LdapConnection, readOne } from '../../ldap/client/ldap-connection.js';
import { LdapError, LdapResultError } from '../../ldap/client/ldap-error.js';
import { readPaged } from '../../ldap/client/paged-search.js';
import { readRootDse } from '../../ldap/client/server-kind.js';
import { LdifError } from '../../ldap/ldif/ldif.js';
import { uuidOfEntry } from '../../ldap/naming/identifiers.js';
import { SourceError } from '../directory.js';
import { FileDirectory } from '../file-directory.js';
import { chooseHints } from '../ldap/hints.js';
import { connectTo, passwordRisk } from '../ldap/ldap-servers.js';
import { ServerDirectory } from '../ldap/server-directory.js';
import { type EntryKind, KINDS } from '../source.js';
import {
  basicCounts,
  EntryCounts,
  type EntryStatistics,
  lostMemberCounts,
  modelCounts,
  USUAL_MEMBERS,
} from './entry-counts.js';
import { ReferenceStatistics } from './reference-statistics.js';

const ENCRYPTION = {
  none: 'not encrypted',
  starttls: 'encrypted by StartTLS',
  ldaps: 'encrypted (ldaps)',
} as const satisfies Record<LdapServerConfig['security'], string>;
const WHAT = { person: 'people', group: 'groups' } as const satisfies Record<EntryKind, string>;
const SERVERS = 'directory servers';
/** Number of entries between two progress reports. */
const PROGRESS_INTERVAL = 1000;

interface CheckOptions {
  /** Called at intervals with the number of entries that have been read. */
  readonly progress?: (entries: number) => void;
  /** What else is counted. */
  readonly more?: readonly EntryStatistics[];
}

function statisticsOf(config: DirectoryConfig, { more = [] }: CheckOptions): readonly EntryStatistics[] {
  const counts = [...modelCounts(config), ...lostMemberCounts(config.mapping)];
  return [new ReferenceStatistics(config), new EntryCounts(counts), ...more];
}

/** Reads a directory file completely, as the service does, and counts people and groups. */
export async function checkFile(
  config: DirectoryConfig,
  source: FileSourceConfig,
  options: CheckOptions = {},
): Promise<Finding[]> {
  const what = 'directory file';
  const basic = new EntryCounts(KINDS.flatMap((kind) => basicCounts(config.mapping, kind, '')));
  const statistics = [basic, ...statisticsOf(config, options)];
  try {
    for await (const page of new FileDirectory(config, source).scan())
      for (const { kind, entry } of page) {
        if (entry !== null) for (const each of statistics) each.add(kind, entry);
        const read = basic.totals.person + basic.totals.group;
        if (read % PROGRESS_INTERVAL === 0) options.progress?.(read);
      }
  } catch (error) {
    if (error instanceof LdifError || error instanceof SourceError)
      return [problem(what, `${source.file}: ${error.message}`)];
    throw error;
  }
  return [ok(what, source.file), ...statistics.flatMap((each) => [...each.findings()])];
}

/**
 * Checks that the servers of a directory provide everything that the service needs, with the same kinds of requests that the
 * service uses. All findings are reported together.
 * @throws InvalidFilterError when a configured filter is malformed; the signal's reason
 */
export async function checkDirectory(
  config: DirectoryConfig,
  source: LdapSourceConfig,
  signal: AbortSignal,
  options: CheckOptions = {},
): Promise<Finding[]> {
  const risk = passwordRisk(source);
  const findings = risk === null ? [] : [warning('directory password', risk)];
  const connected: ConnectedServer[] = [];
  try {
    for (const server of source.servers) findings.push(await enter(source, server, connected, signal));
    const [first, ...others] = connected;
    if (first === undefined) return findings;
    findings.push(ok('directory account', source.bind?.dn ?? 'none, the connection is anonymous'));
    const directory = new ServerDirectory(config, first.connection);
    const check = new ServerCheck(config, directory, signal, options);
    for await (const finding of check.run()) findings.push(finding);
    for await (const finding of compareServers(first, directory, others, signal)) findings.push(finding);
  } catch (error) {
    if (!(error instanceof LdapError)) throw error;
    findings.push(problem('directory server', error.message, error.name));
  } finally {
    for (const { connection } of connected) connection.close();
  }
  return findings;
}

interface ConnectedServer {
  readonly connection: LdapConnection;
  readonly url: string;
}

/** Checks one server: each may have to replace the others. One that rejects the account is available; the problem is the account. */
async function enter(
  source: LdapSourceConfig,
  server: LdapServerConfig,
  connected: ConnectedServer[],
  signal: AbortSignal,
): Promise<Finding> {
  const { url, security } = server;
  try {
    const connection = await connectTo(source, server, signal);
    connected.push({ connection, url });
    const { vendorName, vendorVersion, kind } = await readRootDse(connection);
    // Active Directory publishes no vendor.
    const unnamed = kind === 'other' ? 'of an unknown kind' : kind;
    // FreeIPA publishes the vendor of 389 Directory Server.
    const isNamed = vendorName === null || kind === 'other' || vendorName.toLowerCase() === kind;
    const vendor = [vendorName ?? unnamed, vendorVersion ?? '', isNamed ? '' : `(${kind})`]
      .filter((part) => part !== '')
      .join(' ');
    return ok('directory server', `${url}, ${ENCRYPTION[security]}, ${vendor}`);
  } catch (error) {
    if (!(error instanceof LdapError)) throw error;
    if (connected.at(-1)?.url === url) connected.pop()?.connection.close();
    return error instanceof LdapResultError
      ? problem('directory account', error.message, error.codeName)
      : problem('directory server', `${url}: ${error.message}`, codeOf(error) ?? error.name);
  }
}

/** Checks the content of one server. */
class ServerCheck {
  private read = 0;
  /** The number of entries whose modification time is visible. */
  private dated = 0;
  private readonly statistics: readonly EntryStatistics[];

  constructor(
    private readonly config: DirectoryConfig,
    private readonly directory: ServerDirectory,
    private readonly signal: AbortSignal,
    private readonly options: CheckOptions,
  ) {
    this.statistics = statisticsOf(config, options);
  }

  async *run(): AsyncGenerator<Finding> {
    const missing = yield* this.findMissingBases();
    let isWhole = missing.size === 0;
    for (const kind of KINDS) {
      if (mappingOf(this.config.mapping, kind).bases.some((base) => missing.has(base))) continue;
      const basic = new EntryCounts(basicCounts(this.config.mapping, kind, 'the account sees and that '));
      const trouble = await this.count(kind, basic);
      isWhole &&= trouble === null;
      yield* trouble === null ? basic.findings() : [trouble];
    }
    // Missing references can only be determined if everything was read.
    if (isWhole) for (const each of this.statistics) yield* each.findings();
    if (missing.size === 0) yield await this.describeChanges();
  }

  private async *findMissingBases(): AsyncGenerator<Finding, ReadonlySet<string>> {
    const { users, groups } = this.config.mapping;
    const missing = new Set<string>();
    for (const dn of new Set([this.config.baseDn, ...users.bases, ...groups.bases])) {
      try {
        const request = { base: dn, scope: 'base', filter: ANY_ENTRY, attributes: ['1.1'] } as const;
        const messages = this.directory.connection.search(request, { signal: this.signal });
        // Only an error counts: the entry itself may be hidden from an account that can read those below it.
        for await (const { kind } of messages) if (kind === 'done') break;
      } catch (error) {
        if (!(error instanceof LdapResultError)) throw error;
        missing.add(dn);
        const reason = 'it does not exist, or the account may not read it';
        yield problem('directory bases', `${dn}: ${error.message}: ${reason}`);
      }
    }
    if (missing.size === 0) yield ok('directory bases', 'all of them exist');
    return missing;
  }

  /**
   * Counts the entries with the kind of request that the service will use, because the limits of an account
   * differ between kinds.
   * @returns what prevents it
   */
  private async count(kind: EntryKind, basic: EntryCounts): Promise<Finding | null> {
    const { directory, signal } = this;
    const attributes = [...directory.withoutPictures(kind), ...USUAL_MEMBERS.map(([attribute]) => attribute)];
    try {
      const request = { ...directory.searches[kind], attributes: [...new Set(attributes)] };
      for await (const entry of readPaged(directory.connection, request, { signal })) {
        if (!directory.covers(kind, entry.dn)) continue;
        for (const each of [basic, ...this.statistics]) each.add(kind, entry);
        this.read++;
        if (entry.bytes(directory.modifiedAt).length > 0) this.dated++;
        if (this.read % PROGRESS_INTERVAL === 0) this.options.progress?.(this.read);
      }
      return null;
    } catch (error) {
      if (!(error instanceof LdapResultError)) throw error;
      const text = `${basic.totals[kind]} were read, and then: ${error.message}`;
      return problem(WHAT[kind], text, error.codeName);
    }
  }

  private async describeChanges(): Promise<Finding> {
    const { directory, config, read, dated } = this;
    try {
      await directory.begin(chooseHints, this.signal);
    } catch (error) {
      if (error instanceof SourceError) return problem('changes', error.message);
      throw error;
    }
    const refusals = directory.refusals.map((text) => `. ${text}`).join('');
    const text = {
      PUSHED: `the server pushes them (RFC 4533)${refusals}`,
      COUNTED: `the server numbers them, and is asked for the latest number every second${refusals}`,
      POLLED: `asked for every ${config.syncSeconds} s${refusals}`,
    }[directory.mode];
    if (directory.mode !== 'POLLED' || dated === read) return ok('changes', text);
    const hidden = `${directory.modifiedAt} in ${read - dated} of ${read} entries`;
    return warning('changes', `${text}. The account sees no ${hidden}: only a scan finds their changes`);
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
 * Compares the contents of all servers with those of the first one: each may have to replace the others, and the mirror
 * would follow another content. Servers that are not available are left out.
 * @throws the signal's reason
 */
async function* compareServers(
  { url }: ConnectedServer,
  directory: ServerDirectory,
  others: readonly ConnectedServer[],
  signal: AbortSignal,
): AsyncGenerator<Finding> {
  if (others.length === 0) return;
  let current = url;
  try {
    const content = await readContent(url, directory);
    for (const other of others) {
      current = other.url;
      const compared = new ServerDirectory(directory.config, other.connection);
      await compared.begin(chooseHints, signal);
      const found = await readContent(other.url, compared);
      yield await describeDifference(content, found);
      for (const each of [content, found])
        if (each.directory.contextCsns.length === 0)
          yield warning(
            SERVERS,
            `${each.url} does not show which changes of the others it has: it is not known whether it lags`,
          );
    }
  } catch (error) {
    if (!(error instanceof LdapError || error instanceof SourceError)) throw error;
    yield warning(SERVERS, `${current}: its content could not be compared: ${error.message}`);
  }
}

async function readContent(url: string, directory: ServerDirectory): Promise<Content> {
  const entry = await readOne(directory.connection, directory.config.baseDn, [directory.uuid]);
  const identities = new Set<string>();
  for await (const page of directory.scan(() => Promise.resolve(new Map())))
    for (const { uuid } of page) identities.add(uuid);
  return { url, directory, base: entry === null ? null : uuidOfEntry(entry, directory.uuid), identities };
}

async function describeDifference(first: Content, other: Content): Promise<Finding> {
  const missing = [...first.identities].filter((uuid) => !other.identities.has(uuid)).length;
  const added = [...other.identities].filter((uuid) => !first.identities.has(uuid)).length;
  const counts = `${missing} users and groups of ${first.url} are missing there, and ${added} are only there`;
  const { baseDn } = first.directory.config;
  if (first.base !== null && other.base !== null && first.base !== other.base)
    return problem(
      SERVERS,
      `${other.url} has another directory than ${first.url}: ${baseDn} has another identity. ${counts}`,
    );
  for (const [behind, ahead] of [
    [other, first],
    [first, other],
  ] as const)
    if ((await behind.directory.describeLag(ahead.directory.contextCsns)) !== null)
      return warning(SERVERS, `${behind.url} lags behind ${ahead.url} by its contextCSN. ${counts}`);
  return missing + added === 0
    ? ok(SERVERS, `${other.url} has the same ${first.identities.size} users and groups as ${first.url}`)
    : problem(SERVERS, `${other.url} has other content than ${first.url}, or one of them lags. ${counts}`);
}
