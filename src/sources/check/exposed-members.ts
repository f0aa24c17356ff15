import { counted } from '../../common/counted.js';
import { type Finding, warning } from '../../common/finding.js';
import { type DirectoryMapping, formsOf } from '../../config/model/mapping.js';
import type { Entry } from '../../ldap/entry.js';
import { keyOfDn } from '../../ldap/naming/dn-key.js';
import { uuidOfEntry } from '../../ldap/naming/entry-uuid.js';
import { nameInValue, referenceKeyOf } from '../reference-key.js';

/**
 * Counts groups with rules inside of groups without: their members are members of the outer group, in whose list everyone
 * finds them.
 */
export class ExposedMembers {
  /** The keys of each group that rules hide, or whose members they hide. */
  private readonly hidden: (readonly string[])[] = [];
  /** The keys of what groups without rules name. */
  private readonly named = new Set<string>();

  constructor(private readonly groups: DirectoryMapping['groups']) {}

  add(entry: Entry, isHidden: boolean): void {
    const { uuid } = this.groups;
    if (isHidden) {
      this.hidden.push([keyOfDn(entry.dn), `uuid:${uuidOfEntry(entry, uuid) ?? ''}`]);
      return;
    }
    for (const { attributes, by } of formsOf(this.groups)) {
      for (const attribute of attributes) {
        for (const bytes of entry.bytes(attribute)) {
          const text = nameInValue(attribute, by, bytes);
          const key = text === null ? null : referenceKeyOf(by, text);
          if (key !== null) this.named.add(key);
        }
      }
    }
  }

  *findings(): Generator<Finding> {
    const count = this.hidden.filter((keys) => keys.some((key) => this.named.has(key))).length;
    if (count > 0)
      yield warning(
        'visibility',
        `Outer groups without a rule show the members of ${counted(count, 'group')} that rules hide, or whose members they hide: give the outer groups a rule, too`,
      );
  }
}
