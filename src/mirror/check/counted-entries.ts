import { counted } from '../../common/counted.js';
import { type Finding, warning } from '../../common/finding.js';
import { buildMapping } from '../../config/model/build-mapping.js';
import {
  type DirectoryMapping,
  hasRules,
  memberAttributesOf,
  type NamedBy,
} from '../../config/model/mapping.js';
import type { DirectoryConfig } from '../../config/settings/directory.js';
import type { Entry } from '../../ldap/entry.js';
import {
  GROUP_KEYS,
  mapGroup,
  type MappedGroup,
  type MappedPerson,
  mapPerson,
  NAMED_GROUPS,
} from '../map/map.js';
import { keysOfEntry } from '../map/named-by.js';
import { namingAttributesOf } from '../../sources/references.js';
import type { EntryKind } from '../../sources/source.js';
import { CountedKind } from './counted-kind.js';
import { References } from './references.js';

/** The usual attributes of members, and how their values name entries. */
const USUAL: readonly (readonly [attribute: string, by: NamedBy])[] = [
  ['member', 'dn'],
  ['uniqueMember', 'dn'],
  ['memberUid', 'id'],
];

/** Where Active Directory has an entry for each member of another domain ([MS-ADTS] 6.1.1.4.10). */
const FOREIGN = ',cn=foreignsecurityprincipals,';

/** Maps the entries of a directory as the mirror does, and counts them. */
export class CountedEntries {
  private readonly kinds: Readonly<Record<EntryKind, CountedKind>>;
  private readonly references: References;
  private readonly members: CountedMembers;

  constructor(private readonly config: Pick<DirectoryConfig, 'mapping' | 'server' | 'baseDn' | 'source'>) {
    const { mapping, server, source } = config;
    const preset = buildMapping({ server }, '');
    const kindOf = (kind: EntryKind) => new CountedKind(kind, mapping, preset, source.kind === 'ldap');
    this.kinds = { person: kindOf('person'), group: kindOf('group') };
    this.references = new References(config);
    this.members = new CountedMembers(mapping);
  }

  /** The attributes that are needed to map and count entries of a kind. */
  attributesOf(kind: EntryKind): string[] {
    return [...this.kinds[kind].attributes, ...this.members.attributesOf(kind)];
  }

  add(kind: EntryKind, entry: Entry): void {
    const { users, groups } = this.config.mapping;
    if (kind === 'person') {
      const mapped = mapPerson(entry, users);
      this.kinds.person.add(entry, mapped);
      this.references.add(kind, entry, mapped.value);
      if (mapped.value !== null) this.members.addPerson(mapped.value);
    } else {
      const mapped = mapGroup(entry, groups);
      this.kinds.group.add(entry, mapped);
      this.references.add(kind, entry, mapped.value);
      if (mapped.value !== null) this.members.addGroup(entry, mapped.value);
    }
  }

  totalOf(kind: EntryKind): number {
    return this.kinds[kind].total;
  }

  get total(): number {
    return this.totalOf('person') + this.totalOf('group');
  }

  /** The number of entries whose modification time is visible. */
  get dated(): number {
    const { modifiedAt } = this.config.mapping.users;
    return this.kinds.person.having(modifiedAt) + this.kinds.group.having(modifiedAt);
  }

  /** What is known after all entries of a kind. */
  describe(kind: EntryKind): Iterable<Finding> {
    return this.kinds[kind].describe();
  }

  /**
   * What is known only after all entries.
   * @param sees whether the account sees the entry with a DN; null: it cannot be looked up
   */
  async findings(sees: ((dn: string) => Promise<boolean>) | null): Promise<Finding[]> {
    return [
      ...(await this.references.findings(sees)),
      ...this.kinds.person.describeModel(),
      ...this.kinds.group.describeModel(),
      ...this.members.findings(),
    ];
  }
}

/** Counts members that the mapping cannot find, or that groups show in spite of rules. */
class CountedMembers {
  private readonly others: { readonly attribute: string; readonly by: NamedBy; groups: number }[];
  private readonly groupKeys = new Set<string>();
  /** The number of users who name a group, by its key. */
  private readonly named = new Map<string, number>();
  private members = 0;
  private foreign = 0;
  /** The keys of each group that rules hide, or whose members they hide, and those of what groups without rules name. */
  private readonly hidden: (readonly string[])[] = [];
  private readonly shown = new Set<string>();

  constructor(private readonly mapping: DirectoryMapping) {
    const mapped = memberAttributesOf(mapping.groups).map((each) => each.toLowerCase());
    this.others = USUAL.filter(([attribute]) => !mapped.includes(attribute.toLowerCase())).map(
      ([attribute, by]) => ({ attribute, by, groups: 0 }),
    );
  }

  attributesOf(kind: EntryKind): string[] {
    const { users, groups } = namingAttributesOf(this.mapping.users);
    return kind === 'person' ? users : [...groups, ...this.others.map(({ attribute }) => attribute)];
  }

  addPerson(person: MappedPerson): void {
    for (const key of (person[NAMED_GROUPS] ?? []) as readonly string[])
      this.named.set(key, (this.named.get(key) ?? 0) + 1);
  }

  addGroup(entry: Entry, group: MappedGroup): void {
    for (const key of [group.dnKey, ...((group[GROUP_KEYS] ?? []) as readonly string[])])
      this.groupKeys.add(key);
    if (group.visibleTo !== undefined || group.membersVisibleTo !== undefined)
      this.hidden.push(keysOfEntry('group', group, ['dn', 'uuid']));
    else if (hasRules(this.mapping)) for (const key of group.references.keys()) this.shown.add(key);
    const attributes = this.mapping.groups.members.flatMap((form) => form.attributes);
    const values = attributes.flatMap((attribute) => entry.text(attribute));
    this.members += values.length;
    this.foreign += values.filter((dn) => dn.toLowerCase().includes(FOREIGN)).length;
    if (values.length > 0) return;
    for (const other of this.others) if (entry.bytes(other.attribute).length > 0) other.groups++;
  }

  *findings(): Generator<Finding> {
    for (const { attribute, by, groups } of this.others) {
      if (groups === 0) continue;
      const text = `${attribute} is not read, and alone names the members of ${counted(groups, 'group')}`;
      yield warning('members', `${text}: set groups.members to ${this.cureOf(attribute, by)}`);
    }
    if (this.foreign > 0)
      yield warning(
        'members',
        `${counted(this.foreign, 'foreign security principal')} among the members: users and groups of other domains are not mirrored`,
      );
    yield* this.describeNamed();
    const exposed = this.hidden.filter((keys) => keys.some((key) => this.shown.has(key))).length;
    if (exposed > 0)
      yield warning(
        'visibility',
        `Outer groups without a rule show the members of ${counted(exposed, 'group')} that rules hide, or whose members they hide: give the outer groups a rule, too`,
      );
  }

  private *describeNamed(): Generator<Finding> {
    const dangling = [...this.named].filter(([key]) => !this.groupKeys.has(key));
    if (dangling.length === 0) return;
    const users = dangling.reduce((known, [, count]) => known + count, 0);
    const text = `${(this.mapping.users.memberOf ?? []).join(' and ')} of users: ${counted(users, 'value')} with the name of a group that is not mirrored`;
    yield warning(
      'members',
      `${text} (${counted(dangling.length, 'group')}): check groups.base and groups.filter`,
    );
  }

  /** The forms that also read an attribute, as the model file has them. */
  private cureOf(attribute: string, by: NamedBy): string {
    const forms = this.members === 0 ? [] : this.mapping.groups.members;
    const same = forms.filter((form) => form.by === by).flatMap(({ attributes }) => attributes);
    const written = [...forms.filter((form) => form.by !== by), { attributes: [...same, attribute], by }].map(
      (form) =>
        `{attribute: ${form.attributes.length === 1 ? form.attributes.join() : `[${form.attributes.join(', ')}]`}, by: ${form.by}}`,
    );
    return written.length === 1 ? written.join() : `[${written.join(', ')}]`;
  }
}
