import { codeOf, type Finding, ok, problem, warning } from '../../common/finding.js';
import { mappingOf } from '../../config/model/mapping.js';
import type { DirectoryConfig, LdapServerConfig, LdapSourceConfig } from '../../config/settings/directory.js';
import type { LdapConnection } from '../../ldap/client/ldap-connection.js';
import { LdapError, LdapResultError } from '../../ldap/client/ldap-error.js';
import { ANY_ENTRY } from '../../ldap/client/requests.js';
import { readRootDse } from '../../ldap/client/root-dse.js';
import { chooseMode, findWhyNotOffered, findWhyRefused } from '../ldap/follow-mode.js';
import { LdapDirectory } from '../ldap/ldap-directory.js';
import { passwordRisk } from './password-risk.js';
import type { EntryStatistics } from './entry-statistics.js';
import { EntryCheck } from './check-entries.js';
import { compareServers, type ConnectedServer } from './compare-servers.js';
import { KINDS } from '../source.js';

const ENCRYPTION = {
  none: 'not encrypted',
  starttls: 'encrypted by StartTLS',
  ldaps: 'encrypted (ldaps)',
} as const satisfies Record<LdapServerConfig['security'], string>;

/** No entry was changed at or after this time (RFC 4517 §3.3.13). */
const END_OF_TIME = '99991231235959Z';

interface CheckOptions {
  /** Called at intervals with the number of entries that have been read. */
  readonly progress?: (entries: number) => void;
  /** What else is counted. */
  readonly more?: readonly EntryStatistics[];
}

/**
 * Checks that a directory server provides everything that the service needs, with the same kinds of requests
 * that the service uses. All findings are reported together.
 * @throws InvalidFilterError when a configured filter is malformed; the signal's reason
 */
export async function checkDirectory(
  config: DirectoryConfig,
  source: LdapSourceConfig,
  signal: AbortSignal,
  options: CheckOptions = {},
): Promise<Finding[]> {
  const directory = new LdapDirectory(config, source);
  const risk = passwordRisk(source);
  const findings = risk === null ? [] : [warning('directory password', risk)];
  const first = await enterAll(directory, source, signal, findings);
  if (first === null) return findings;
  const { connection } = first;
  findings.push(ok('directory account', source.bind?.dn ?? 'none, the connection is anonymous'));
  try {
    const check = new DirectoryCheck(config, directory, connection, signal, options);
    for await (const finding of check.run()) findings.push(finding);
    const others = compareServers(config, source, directory, first, signal);
    for await (const finding of others) findings.push(finding);
  } catch (error) {
    if (!(error instanceof LdapError)) throw error;
    findings.push(problem('directory server', error.message, error.name));
  } finally {
    connection.close();
  }
  return findings;
}

/**
 * Checks every server, because each may have to replace the others.
 * @returns a connection to the first server that accepts the account; null when none does
 */
async function enterAll(
  directory: LdapDirectory,
  source: LdapSourceConfig,
  signal: AbortSignal,
  findings: Finding[],
): Promise<ConnectedServer | null> {
  let first: ConnectedServer | null = null;
  for (const server of source.servers) {
    let connection: LdapConnection | null = null;
    try {
      connection = await directory.servers.connectTo(server, signal);
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

class DirectoryCheck {
  constructor(
    private readonly config: DirectoryConfig,
    private readonly directory: LdapDirectory,
    private readonly connection: LdapConnection,
    private readonly signal: AbortSignal,
    private readonly options: CheckOptions,
  ) {}

  async *run(): AsyncGenerator<Finding> {
    const { config, directory, connection } = this;
    const { progress = () => undefined } = this.options;
    const missing = yield* this.findMissingBases();
    const noContentSync = await this.findWhyNoContentSync(missing.size === 0);
    const entries = new EntryCheck(config, directory, connection, noContentSync, this.options.more ?? []);
    let isWhole = missing.size === 0;
    for (const kind of KINDS) {
      const { bases } = mappingOf(config.mapping, kind);
      if (bases.some((base) => missing.has(base))) continue;
      const isRead = yield* entries.check(kind, this.signal, progress);
      isWhole &&= isRead;
    }
    // Missing references can only be determined if everything was read.
    if (isWhole) yield* await entries.findings(this.signal);
    if (entries.noContentSync !== null && missing.size === 0) await this.tryContentSync();
    yield (missing.size === 0 ? await this.describeNumbers(entries) : null) ?? this.describeChanges(entries);
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

  /** Sends the request for changes once, to determine which parts the server refuses. */
  private async tryContentSync(): Promise<void> {
    try {
      await this.directory.listChangedSince(this.connection, END_OF_TIME).next();
    } catch (error) {
      // The entries were counted before, and that step reported every failure.
      if (!(error instanceof LdapResultError)) throw error;
    }
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

  /** @param hasBases whether all bases exist, so that each one can be checked */
  private async findWhyNoContentSync(hasBases: boolean): Promise<string | null> {
    const reason = await findWhyNotOffered(this.directory, this.connection);
    return reason === null && hasBases ? this.findWhatIsRefused() : reason;
  }

  private async findWhatIsRefused(): Promise<string | null> {
    try {
      return await findWhyRefused(this.directory, this.connection, this.signal);
    } catch (error) {
      // The entries are counted with the same request, and that step reports every failure.
      if (error instanceof LdapResultError) return null;
      throw error;
    }
  }

  /** Null: the server does not number its changes, or reports them. */
  private async describeNumbers({ noContentSync }: EntryCheck): Promise<Finding | null> {
    if (noContentSync === null) return null;
    const { mode } = await chooseMode(this.directory, this.connection, this.signal);
    if (mode.kind !== 'counted') return null;
    const { changed } = mode.numbers.counter;
    return ok('changes', `the server numbers them (${changed}): asked for every second. ${noContentSync}`);
  }

  private describeChanges({ noContentSync, total, dated }: EntryCheck): Finding {
    if (noContentSync === null) return ok('changes', 'the server pushes them (RFC 4533)');
    const { syncSeconds, mapping } = this.config;
    const reasons = new Set([noContentSync, ...this.directory.refusals(this.connection)]);
    const asked = `asked for every ${syncSeconds} s. ${[...reasons].join('. ')}`;
    if (dated === total) return ok('changes', asked);
    const consequence = dated === 0 ? 'everything is read each time' : 'changes of those are missed';
    return warning(
      'changes',
      `${asked}. The account sees no ${mapping.users.modifiedAt} in ${total - dated} of ${total} entries: ${consequence}`,
    );
  }
}
