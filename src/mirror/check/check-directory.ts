import { codeOf, type Finding, ok, problem, warning } from '../../common/finding.js';
import { mappingOf } from '../../config/model/mapping.js';
import type {
  DirectoryConfig,
  FileSourceConfig,
  LdapServerConfig,
  LdapSourceConfig,
} from '../../config/settings/directory.js';
import { readOne } from '../../ldap/client/ldap-connection.js';
import { LdapError, LdapResultError } from '../../ldap/client/ldap-error.js';
import { readPaged } from '../../ldap/client/paged-search.js';
import { readRootDse } from '../../ldap/client/server-kind.js';
import { LdifError } from '../../ldap/ldif/ldif.js';
import { uuidOfEntry } from '../../ldap/naming/identifiers.js';
import { chooseHints } from '../../sources/ldap/hints.js';
import { connectTo, passwordRisk } from '../../sources/ldap/ldap-servers.js';
import { ServerDirectory } from '../../sources/ldap/server-directory.js';
import { FileDirectory } from '../../sources/file-directory.js';
import { type EntryKind, KINDS, SourceError } from '../../sources/directory.js';
import { CountedEntries } from './counted-entries.js';
import { LISTS } from './counted-references.js';

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

/** A server that accepts the account. */
interface Entered {
  readonly url: string;
  readonly directory: ServerDirectory;
}

/**
 * Checks that a directory server provides everything that the service needs, with the same kinds of requests
 * that the service uses. All findings are reported together. Each server may have to replace the others, and is compared.
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
  const entered: Entered[] = [];
  try {
    for (const server of source.servers) {
      let directory: ServerDirectory | null = null;
      try {
        directory = new ServerDirectory(config, await connectTo(source, server, signal));
        findings.push(await describeServer(directory, server));
        entered.push({ url: server.url, directory });
      } catch (error) {
        directory?.close();
        findings.push(explainConnectionFailure(error, server));
      }
    }
    const [first] = entered;
    if (first === undefined) return findings;
    findings.push(ok('directory account', source.bind?.dn ?? 'none, the connection is anonymous'));
    const check = new DirectoryCheck(config, first.directory, signal, progress);
    for await (const finding of check.run()) findings.push(finding);
    if (entered.length > 1)
      for await (const finding of compareServers(entered, signal)) findings.push(finding);
  } catch (error) {
    if (!(error instanceof LdapError)) throw error;
    findings.push(problem('directory server', error.message, error.name));
  } finally {
    for (const { directory } of entered) directory.close();
  }
  return findings;
}

/** A server that rejects the account is available; the problem is the account. */
function explainConnectionFailure(error: unknown, { url }: LdapServerConfig): Finding {
  if (!(error instanceof LdapError)) throw error;
  return error instanceof LdapResultError
    ? problem('directory account', error.message, error.codeName)
    : problem('directory server', `${url}: ${error.message}`, codeOf(error) ?? error.name);
}

async function describeServer(
  { connection }: ServerDirectory,
  { url, security }: LdapServerConfig,
): Promise<Finding> {
  const { vendorName, vendorVersion, kind } = await readRootDse(connection);
  // Active Directory publishes no vendor.
  const unnamed = kind === 'other' ? 'of an unknown kind' : kind;
  const vendor = [vendorName ?? unnamed, vendorVersion ?? ''].join(' ').trimEnd();
  return ok('directory server', `${url}, ${ENCRYPTION[security]}, ${vendor}`);
}

/** Reads a directory file completely, as the service does. */
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
  return [ok(what, source.file), ...ofKinds, ...entries.findings()];
}

class DirectoryCheck {
  private readonly entries: CountedEntries;

  constructor(
    private readonly config: DirectoryConfig,
    private readonly directory: ServerDirectory,
    private readonly signal: AbortSignal,
    private readonly progress: Progress,
  ) {
    this.entries = new CountedEntries(config);
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
    if (isWhole) yield* this.entries.findings();
    if (missing.size === 0) yield* this.describeChanges();
  }

  /**
   * Counts the entries with the kind of request that the service will use, because the limits of an account
   * differ between kinds.
   * @returns why they cannot be read; null when all were read
   */
  private async read(kind: EntryKind): Promise<Finding | null> {
    const { directory, entries, signal } = this;
    const request = { ...directory.searches[kind], attributes: entries.attributesOf(kind) };
    try {
      for await (const entry of readPaged(directory.connection, request, { signal })) {
        if (!directory.covers(kind, entry.dn)) continue;
        entries.add(kind, entry);
        if (entries.total % PROGRESS_INTERVAL === 0) this.progress(entries.total);
      }
      return null;
    } catch (error) {
      if (!(error instanceof LdapResultError)) throw error;
      const text = `${entries.totalOf(kind)} were read, and then: ${error.message}`;
      return problem(LISTS[kind], text, error.codeName);
    }
  }

  private async *findMissingBases(): AsyncGenerator<Finding, ReadonlySet<string>> {
    const { baseDn, mapping } = this.config;
    const missing = new Set<string>();
    for (const dn of new Set([baseDn, ...mapping.users.bases, ...mapping.groups.bases]))
      try {
        // Only an error counts: the entry itself may be hidden from an account that can read those below it.
        await readOne(this.directory.connection, dn, ['1.1'], { signal: this.signal }, []);
      } catch (error) {
        if (!(error instanceof LdapResultError)) throw error;
        missing.add(dn);
        const reason = `${error.message}: it does not exist, or the account may not read it`;
        yield problem('directory bases', `${dn}: ${reason}`);
      }
    if (missing.size === 0) yield ok('directory bases', 'all of them exist');
    return missing;
  }

  private async *describeChanges(): AsyncGenerator<Finding> {
    const { directory, config } = this;
    try {
      await directory.begin(chooseHints, this.signal);
    } catch (error) {
      if (!(error instanceof SourceError)) throw error;
      yield problem('changes', error.message);
      return;
    }
    const refusals = directory.refusals.map((text) => `. ${text}`).join('');
    const texts = {
      PUSHED: 'the server pushes them (RFC 4533)',
      COUNTED: 'the server numbers them, and is asked for the latest number every second',
      POLLED: `all entries are listed every ${config.syncSeconds} s`,
    };
    yield ok('changes', `${texts[directory.mode]}${refusals}`);
  }
}

/** What the servers of one directory have in common. */
interface Content extends Entered {
  /** The identity of the base DN, which replication keeps; null when the account does not see it. */
  readonly base: string | null;
  /** The identities of all users and groups. */
  readonly identities: ReadonlySet<string>;
}

/** Compares the contents of all servers with those of the first one, which is begun. Servers that go away are left out. */
async function* compareServers(entered: readonly Entered[], signal: AbortSignal): AsyncGenerator<Finding> {
  let first: Content | null = null;
  for (const each of entered)
    try {
      if (each !== entered[0]) await each.directory.begin(chooseHints, signal);
      const content = await readContent(each);
      if (first === null) first = content;
      else yield* describeDifference(first, content);
    } catch (error) {
      if (!(error instanceof LdapError || error instanceof SourceError)) throw error;
      yield warning(SERVERS, `${each.url}: its content could not be compared: ${error.message}`);
    }
}

async function readContent({ url, directory }: Entered): Promise<Content> {
  const entry = await readOne(directory.connection, directory.config.baseDn, [directory.uuid]);
  const identities = new Set<string>();
  for await (const page of directory.scan(false)) for (const { uuid } of page) identities.add(uuid);
  return { url, directory, base: entry === null ? null : uuidOfEntry(entry, directory.uuid), identities };
}

/** Describes how the content of a server differs from that of the first one. */
async function* describeDifference(first: Content, other: Content): AsyncGenerator<Finding> {
  const missing = [...first.identities].filter((uuid) => !other.identities.has(uuid)).length;
  const added = [...other.identities].filter((uuid) => !first.identities.has(uuid)).length;
  const counts = `${missing} users and groups of ${first.url} are missing there, and ${added} are only there`;
  const lagging = (await lacks(other, first))
    ? [other, first]
    : (await lacks(first, other))
      ? [first, other]
      : null;
  if (first.base !== null && other.base !== null && first.base !== other.base) {
    const reason = `${first.directory.config.baseDn} has another identity`;
    yield problem(SERVERS, `${other.url} has another directory than ${first.url}: ${reason}. ${counts}`);
  } else if (lagging !== null) {
    const [behind, ahead] = lagging.map(({ url }) => url);
    yield warning(SERVERS, `${behind} lags behind ${ahead} by its contextCSN. ${counts}`);
  } else if (missing + added === 0)
    yield ok(SERVERS, `${other.url} has the same ${first.identities.size} users and groups as ${first.url}`);
  else
    yield problem(
      SERVERS,
      `${other.url} has other content than ${first.url}, or one of them lags. ${counts}`,
    );
}

async function lacks({ directory }: Content, known: Content): Promise<boolean> {
  return (await directory.describeLag(known.directory.contextCsns)) !== null;
}
