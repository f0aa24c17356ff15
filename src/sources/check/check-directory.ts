import { type Finding, ok, problem, warning } from '../../common/finding.js';
import type { DirectoryConfig, LdapServerConfig, LdapSourceConfig } from '../../config/settings/directory.js';
import type { LdapConnection } from '../../ldap/client/ldap-connection.js';
import { ContentSyncRefusedError } from '../../ldap/sync/content-sync-error.js';
import { LdapError, LdapResultError } from '../../ldap/client/ldap-error.js';
import { readPaged } from '../../ldap/client/paged-search.js';
import { ANY_ENTRY } from '../../ldap/client/requests.js';
import { readRootDse } from '../../ldap/client/root-dse.js';
import { requireCoverage } from '../ldap/coverage.js';
import { KINDS, LdapDirectory } from '../ldap/ldap-directory.js';
import { passwordRisk } from './password-risk.js';
import type { EntryKind } from '../source.js';
import { ReferenceTally } from './reference-statistics.js';
import { readFollowed, Tally } from './attribute-statistics.js';

const ENCRYPTION = {
  none: 'not encrypted',
  starttls: 'encrypted by StartTLS',
  ldaps: 'encrypted (ldaps)',
} as const satisfies Record<LdapServerConfig['security'], string>;

/** Number of entries between two progress reports. */
const PROGRESS_INTERVAL = 1000;

/** No entry was changed at or after this time (RFC 4517 §3.3.13). */
const END_OF_TIME = '99991231235959Z';

const PLURALS = { person: 'people', group: 'groups' } as const satisfies Record<EntryKind, string>;

/**
 * Checks that a directory server provides everything that the service needs, with the same kinds of requests
 * that the service uses. All findings are reported together.
 * @param progress called at intervals with the number of entries that have been read
 * @throws InvalidFilterError when a configured filter is malformed; the signal's reason
 */
export async function examineDirectory(
  config: DirectoryConfig,
  source: LdapSourceConfig,
  signal: AbortSignal,
  progress: (entries: number) => void = () => undefined,
): Promise<Finding[]> {
  const directory = new LdapDirectory(config, source);
  const risk = passwordRisk(source);
  const findings = risk === null ? [] : [warning('directory password', risk)];
  let connection: LdapConnection | null = null;
  try {
    // Every server is checked, because each may have to replace the others. The directory is examined on the
    // first one that accepts the account.
    for (const server of source.servers) {
      const entered = await enter(directory, server, signal);
      findings.push(entered.finding);
      if (connection === null) ({ connection } = entered);
      else entered.connection?.close();
    }
    if (connection === null) return findings;
    findings.push(ok('directory account', source.bind?.dn ?? 'none, the connection is anonymous'));
    const examination = new Examination(config, directory, connection, signal, progress);
    for await (const finding of examination.run()) findings.push(finding);
  } catch (error) {
    if (!(error instanceof LdapError)) throw error;
    findings.push(problem('directory server', error.message));
  } finally {
    connection?.close();
  }
  return findings;
}

async function enter(
  directory: LdapDirectory,
  server: LdapServerConfig,
  signal: AbortSignal,
): Promise<{ connection: LdapConnection | null; finding: Finding }> {
  let connection: LdapConnection | null = null;
  try {
    connection = await directory.servers.connectTo(server, signal);
    return { connection, finding: await describeServer(connection, server) };
  } catch (error) {
    connection?.close();
    return { connection: null, finding: explainEntrance(error, server) };
  }
}

/** A server that rejects the account is available; the problem is the account. */
function explainEntrance(error: unknown, { url }: LdapServerConfig): Finding {
  if (!(error instanceof LdapError)) throw error;
  return error instanceof LdapResultError
    ? problem('directory account', error.message)
    : problem('directory server', `${url}: ${error.message}`);
}

async function describeServer(
  connection: LdapConnection,
  { url, security }: LdapServerConfig,
): Promise<Finding> {
  const { vendorName, vendorVersion } = await readRootDse(connection);
  const vendor = [vendorName ?? 'of a kind that it does not tell', vendorVersion ?? ''].join(' ').trim();
  return ok('directory server', `${url}, ${ENCRYPTION[security]}, ${vendor}`);
}

/** Checks the directory on a connection that is bound. */
class Examination {
  /** Why the server does not report changes; null when it does. */
  private notTold: string | null = null;
  private readonly references: ReferenceTally;

  constructor(
    private readonly config: DirectoryConfig,
    private readonly directory: LdapDirectory,
    private readonly connection: LdapConnection,
    private readonly signal: AbortSignal,
    private readonly progress: (entries: number) => void,
  ) {
    this.references = new ReferenceTally(config.mapping);
  }

  async *run(): AsyncGenerator<Finding> {
    const { people, groups } = this.config.mapping;
    const missing = new Set<string>();
    for (const dn of new Set([this.config.baseDn, people.base, groups.base])) {
      const absence = await this.findAbsence(dn);
      if (absence === null) continue;
      missing.add(dn);
      yield problem('directory bases', `${dn}: ${absence}`);
    }
    if (missing.size === 0) yield ok('directory bases', 'all of them are there');
    this.notTold = await this.findWhyNotTold(missing.size === 0);
    const together = { entries: 0, dated: 0 };
    let isWhole = missing.size === 0;
    for (const kind of KINDS) {
      if (missing.has(this.directory.searches[kind].base)) continue;
      const tally = new Tally();
      const trouble = await this.count(kind, tally);
      yield* trouble === null ? this.describeEntries(kind, tally) : [trouble];
      if (kind === 'group' && trouble === null) yield* this.describeMembers(tally);
      isWhole &&= trouble === null;
      together.entries += tally.total;
      together.dated += tally.having(people.modifiedAt);
    }
    // Missing references can only be determined if everything was read.
    if (isWhole) yield* this.references.findings();
    if (this.notTold !== null && missing.size === 0) await this.tryToAsk();
    yield this.describeChanges(together);
  }

  /** Sends the request for changes once, to determine which parts the server refuses. */
  private async tryToAsk(): Promise<void> {
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
      // The entry itself may be hidden from an account that can read the entries below it: only an error
      // counts.
      for await (const { kind } of messages) if (kind === 'done') break;
      return null;
    } catch (error) {
      if (error instanceof LdapResultError)
        return `${error.message}: it is not there, or hidden from the account`;
      throw error;
    }
  }

  /** @param hasBases whether all bases exist, so that each one can be checked */
  private async findWhyNotTold(hasBases: boolean): Promise<string | null> {
    if (await this.directory.offersContentSync(this.connection))
      return hasBases ? this.findWhatIsNotCovered() : null;
    const { uuid } = this.config.mapping.people;
    return uuid.toLowerCase() === 'entryuuid'
      ? 'The server does not offer to tell them (RFC 4533; OpenLDAP does with the overlay syncprov)'
      : `Servers tell them by entryUUID, and DIRECTORY_ENTRY_UUID is ${uuid}`;
  }

  private async findWhatIsNotCovered(): Promise<string | null> {
    try {
      await requireCoverage(this.directory, this.connection, this.signal);
      return null;
    } catch (error) {
      if (error instanceof ContentSyncRefusedError) return error.message;
      // The entries are counted with the same request, and that step reports every failure.
      if (error instanceof LdapResultError) return null;
      throw error;
    }
  }

  /**
   * Counts the entries with the kind of request that the service will use, because the limits of an account
   * differ between kinds.
   */
  private async count(kind: EntryKind, tally: Tally): Promise<Finding | null> {
    const { people, groups } = this.config.mapping;
    const { uuid, id, modifiedAt } = kind === 'person' ? people : groups;
    const named = kind === 'person' ? [] : [groups.member, groups.admin, groups.owner];
    const request = { ...this.directory.searches[kind], attributes: [uuid, id, modifiedAt, ...named] };
    try {
      const { connection, signal } = this;
      const entries =
        this.notTold === null
          ? readFollowed(connection, request, signal)
          : readPaged(connection, request, { signal });
      for await (const entry of entries) {
        tally.add(entry);
        this.references.add(kind, entry);
        if (tally.total % PROGRESS_INTERVAL === 0) this.progress(tally.total);
      }
      return null;
    } catch (error) {
      if (error instanceof ContentSyncRefusedError) {
        this.notTold = error.message;
        return this.count(kind, tally);
      }
      if (!(error instanceof LdapResultError)) throw error;
      return problem(PLURALS[kind], `${tally.total} were read, and then: ${error.message}`);
    }
  }

  private *describeEntries(kind: EntryKind, tally: Tally): Generator<Finding> {
    const what = PLURALS[kind];
    const { uuid, id, base, filter } = this.config.mapping[what];
    if (tally.total === 0) {
      const nobody = `none below ${base} that the account sees and that ${filter} chooses`;
      yield kind === 'person' ? problem(what, nobody) : warning(what, nobody);
      return;
    }
    const anonymous = tally.total - tally.having(uuid);
    const nameless = tally.total - tally.having(id);
    yield ok(what, `${tally.total} below ${base}`);
    if (anonymous > 0) {
      yield problem(
        what,
        `${uuid} is hidden from the account, or not there, in ${anonymous} of ${tally.total} entries`,
      );
    }
    if (nameless > 0)
      yield warning(what, `${nameless} of ${tally.total} entries have no ${id}, and are left out`);
  }

  private *describeMembers(tally: Tally): Generator<Finding> {
    const { member, admin, owner } = this.config.mapping.groups;
    const counts = [member, admin, owner].map(
      (attribute) => `${attribute} in ${tally.having(attribute)} groups`,
    );
    const isNobodyNamed = [member, admin, owner].every((attribute) => tally.having(attribute) === 0);
    if (tally.total === 0) return;
    yield isNobodyNamed
      ? problem('members', `${counts.join(', ')}: they are hidden from the account, or called otherwise`)
      : ok('members', counts.join(', '));
  }

  /** @param dated number of entries whose modification time is visible */
  private describeChanges({ entries, dated }: { entries: number; dated: number }): Finding {
    if (this.notTold === null) return ok('changes', 'told by the server as they happen (RFC 4533)');
    const { syncSeconds, mapping } = this.config;
    const reasons = [this.notTold, ...this.directory.refusals(this.connection)];
    const asked = `asked for every ${syncSeconds} s. ${reasons.join('. ')}`;
    if (dated === entries) return ok('changes', asked);
    const consequence = dated === 0 ? 'everything is read each time' : 'changes of those are missed';
    return warning(
      'changes',
      `${asked}. The account sees no ${mapping.people.modifiedAt} in ${entries - dated} of ${entries} entries: ${consequence}`,
    );
  }
}
