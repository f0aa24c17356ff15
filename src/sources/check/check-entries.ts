import { counted } from '../../common/counted.js';
import { type Finding, ok, problem, warning } from '../../common/finding.js';
import { type DirectoryMapping, mappingOf, memberAttributesOf } from '../../config/model/mapping.js';
import type { DirectoryConfig } from '../../config/settings/directory.js';
import type { LdapConnection } from '../../ldap/client/ldap-connection.js';
import { attributeKey, type Entry } from '../../ldap/entry.js';
import { LdapResultError } from '../../ldap/client/ldap-error.js';
import { readPaged } from '../../ldap/client/paged-search.js';
import { readOne } from '../../ldap/client/read-one.js';
import { uuidOfEntry } from '../../ldap/naming/entry-uuid.js';
import type { ServerDirectory } from '../ldap/server-directory.js';
import type { EntryStatistics } from './entry-statistics.js';
import { MembershipForms } from './membership-forms.js';
import { ModelStatistics } from './model-statistics.js';
import { PROGRESS_INTERVAL, ReferenceStatistics } from './reference-statistics.js';
import type { EntryKind } from '../source.js';

const PLURALS = { person: 'people', group: 'groups' } as const satisfies Record<EntryKind, string>;

/** Counts entries, and the entries that have each attribute. */
class AttributeStatistics {
  total = 0;
  /** Entries whose identifier is none, such as one of zeros. */
  unidentified = 0;
  private readonly counts = new Map<string, number>();

  add(entry: Entry): void {
    this.total++;
    for (const key of entry.attributes.keys()) this.counts.set(key, this.having(key) + 1);
  }

  having(attribute: string): number {
    return this.counts.get(attributeKey(attribute)) ?? 0;
  }
}

export class EntryCheck {
  private readonly model: ModelStatistics;
  private readonly forms: MembershipForms;
  private readonly references: ReferenceStatistics;
  private readonly statistics: readonly EntryStatistics[];
  /** The number of entries, and of those whose modification time is visible. */
  total = 0;
  dated = 0;

  private readonly mapping: DirectoryMapping;

  /**
   * @param more what else is counted
   */
  constructor(
    private readonly config: DirectoryConfig,
    private readonly directory: ServerDirectory,
    private readonly connection: LdapConnection,
    more: readonly EntryStatistics[],
  ) {
    this.mapping = config.mapping;
    this.model = new ModelStatistics(config);
    this.forms = new MembershipForms(config.mapping);
    this.references = new ReferenceStatistics(config);
    this.statistics = [this.references, this.model, this.forms, ...more];
  }

  /** What was counted, which is known only after all entries. */
  async findings(signal: AbortSignal): Promise<Finding[]> {
    await this.references.lookUp((dn) => this.sees(dn, signal));
    return this.statistics.flatMap((each) => [...each.findings()]);
  }

  private async sees(dn: string, signal: AbortSignal): Promise<boolean> {
    try {
      return (await readOne(this.connection, dn, ['1.1'], { signal })) !== null;
    } catch (error) {
      // Such as a DN that the server does not accept.
      if (error instanceof LdapResultError) return false;
      throw error;
    }
  }

  /** @returns whether all entries of the kind were read */
  async *check(
    kind: EntryKind,
    signal: AbortSignal,
    progress: (entries: number) => void,
  ): AsyncGenerator<Finding, boolean> {
    const statistics = new AttributeStatistics();
    const trouble = await this.count(kind, statistics, signal, progress);
    this.total += statistics.total;
    this.dated += statistics.having(this.mapping.users.modifiedAt);
    if (trouble !== null) {
      yield trouble;
      return false;
    }
    yield* this.describeEntries(kind, statistics);
    if (kind === 'group') yield* this.describeMembers(statistics);
    return true;
  }

  /**
   * Counts the entries with the kind of request that the service will use, because the limits of an account
   * differ between kinds.
   */
  private async count(
    kind: EntryKind,
    statistics: AttributeStatistics,
    signal: AbortSignal,
    progress: (entries: number) => void,
  ): Promise<Finding | null> {
    try {
      for await (const entry of this.read(kind, signal)) {
        statistics.add(entry);
        const { uuid } = this.directory;
        const isUnidentified = entry.bytes(uuid).length > 0 && uuidOfEntry(entry, uuid) === null;
        if (isUnidentified) statistics.unidentified++;
        for (const each of this.statistics) each.add(kind, entry);
        if (statistics.total % PROGRESS_INTERVAL === 0) progress(statistics.total);
      }
      return null;
    } catch (error) {
      if (!(error instanceof LdapResultError)) throw error;
      return problem(
        PLURALS[kind],
        `${statistics.total} were read, and then: ${error.message}`,
        error.codeName,
      );
    }
  }

  private async *read(kind: EntryKind, signal: AbortSignal): AsyncGenerator<Entry> {
    const { uuid, id, name, modifiedAt } = mappingOf(this.mapping, kind);
    const named = kind === 'person' ? [] : memberAttributesOf(this.mapping.groups);
    const request = {
      ...this.directory.searches[kind],
      attributes: [
        ...[uuid, id, ...name, modifiedAt, ...named],
        ...this.model.attributesOf(kind),
        ...this.forms.attributesOf(kind),
      ],
    };
    for await (const entry of readPaged(this.connection, request, { signal }))
      if (this.directory.covers(kind, entry.dn)) yield entry;
  }

  private *describeEntries(kind: EntryKind, statistics: AttributeStatistics): Generator<Finding> {
    const what = PLURALS[kind];
    const { uuid, id, bases, filter } = mappingOf(this.mapping, kind);
    const { total } = statistics;
    if (total === 0) {
      const none = `none below ${bases.join(' or ')} that the account sees and that ${filter} chooses`;
      yield kind === 'person' ? problem(what, none, 'NONE') : warning(what, none, 'NONE');
      return;
    }
    const anonymous = total - statistics.having(uuid);
    const nameless = total - statistics.having(id);
    yield ok(what, `${total} below ${bases.join(' and ')}`);
    if (anonymous > 0) {
      const hidden = `${uuid} is missing, or the account may not read it, in ${anonymous} of ${total} entries`;
      yield problem(what, hidden, 'insufficientAccessRights');
    }
    if (statistics.unidentified > 0)
      yield warning(
        what,
        `${statistics.unidentified} of ${total} entries have an invalid ${uuid}, and are omitted`,
      );
    if (nameless > 0) yield warning(what, `${nameless} of ${total} entries have no ${id}, and are omitted`);
  }

  private *describeMembers(statistics: AttributeStatistics): Generator<Finding> {
    if (statistics.total === 0) return;
    const attributes = memberAttributesOf(this.mapping.groups);
    const counts = attributes.map(
      (attribute) => `${attribute} in ${counted(statistics.having(attribute), 'group')}`,
    );
    const hasNoMembers =
      this.mapping.users.memberOf === undefined &&
      attributes.every((attribute) => statistics.having(attribute) === 0);
    yield hasNoMembers
      ? problem(
          'members',
          `${counts.join(', ')}: they are hidden from the account, or called otherwise`,
          'insufficientAccessRights',
        )
      : ok('members', counts.join(', '));
  }
}
