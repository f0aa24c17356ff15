import { counted } from '../../common/counted.js';
import { type Finding, warning } from '../../common/finding.js';
import { type DirectoryMapping, memberAttributesOf, type NamedBy } from '../../config/model/mapping.js';
import type { Entry } from '../../ldap/entry.js';
import { keyOfDn } from '../../ldap/naming/dn-key.js';
import { groupKeysOf, namedGroupsOf, namingAttributesOf } from '../named-groups.js';
import type { EntryKind } from '../source.js';
import type { EntryStatistics } from './entry-statistics.js';

/** The usual attributes of members, and how their values name entries. */
const USUAL: readonly (readonly [attribute: string, by: NamedBy])[] = [
  ['member', 'dn'],
  ['uniqueMember', 'dn'],
  ['memberUid', 'id'],
];

/** Where Active Directory has an entry for each member of another domain ([MS-ADTS] 6.1.1.4.10). */
const FOREIGN = ',cn=foreignsecurityprincipals,';

/** Counts members that the mapping cannot find: those in other attributes, of other domains, and of groups that are not mirrored. */
export class MembershipForms implements EntryStatistics {
  private readonly others: { readonly attribute: string; readonly by: NamedBy; groups: number }[];
  private readonly groupKeys = new Set<string>();
  /** The number of users who name a group, by its key. */
  private readonly named = new Map<string, number>();
  private members = 0;
  private foreign = 0;

  constructor(private readonly mapping: DirectoryMapping) {
    const mapped = memberAttributesOf(mapping.groups).map((each) => each.toLowerCase());
    this.others = USUAL.filter(([attribute]) => !mapped.includes(attribute.toLowerCase())).map(
      ([attribute, by]) => ({ attribute, by, groups: 0 }),
    );
  }

  /** The attributes of entries that are counted. */
  attributesOf(kind: EntryKind): string[] {
    const { users, groups } = namingAttributesOf(this.mapping.users);
    return kind === 'person' ? users : [...groups, ...this.others.map(({ attribute }) => attribute)];
  }

  add(kind: EntryKind, entry: Entry): void {
    if (kind === 'group') {
      this.addGroup(entry);
      return;
    }
    for (const key of namedGroupsOf(entry, this.mapping.users.memberOf ?? []))
      this.named.set(key, (this.named.get(key) ?? 0) + 1);
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
    const dangling = [...this.named].filter(([key]) => !this.groupKeys.has(key));
    const users = dangling.reduce((sum, [, count]) => sum + count, 0);
    if (users === 0) return;
    const attributes = (this.mapping.users.memberOf ?? []).join(' and ');
    yield warning(
      'members',
      `${attributes} of users: ${counted(users, 'value')} with the name of a group that is not mirrored (${counted(dangling.length, 'group')}): check groups.base and groups.filter`,
    );
  }

  /** The forms that also read an attribute, as the model file has them. */
  private cureOf(attribute: string, by: NamedBy): string {
    const forms = this.members === 0 ? [] : this.mapping.groups.members;
    const others = forms.filter((form) => form.by !== by);
    const same = forms.filter((form) => form.by === by).flatMap(({ attributes }) => attributes);
    const written = [...others, { attributes: [...same, attribute], by }].map(
      (form) =>
        `{attribute: ${form.attributes.length === 1 ? form.attributes.join() : `[${form.attributes.join(', ')}]`}, by: ${form.by}}`,
    );
    return written.length === 1 ? written.join() : `[${written.join(', ')}]`;
  }

  private addGroup(entry: Entry): void {
    for (const key of [keyOfDn(entry.dn), ...groupKeysOf(entry)]) this.groupKeys.add(key);
    const attributes = this.mapping.groups.members.flatMap((form) => form.attributes);
    const values = attributes.flatMap((attribute) => entry.text(attribute));
    this.members += values.length;
    this.foreign += values.filter((dn) => dn.toLowerCase().includes(FOREIGN)).length;
    if (values.length > 0) return;
    for (const other of this.others) if (entry.bytes(other.attribute).length > 0) other.groups++;
  }
}
