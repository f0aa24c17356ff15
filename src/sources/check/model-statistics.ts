import { type Field, mappedFields } from '../../common/field.js';
import { type Finding, ok, warning } from '../../common/finding.js';
import { type DirectoryMapping, mappingOf } from '../../config/model/mapping.js';
import type { Entry } from '../../ldap/entry.js';
import { compileFilter } from '../../ldap/filter/filter.js';
import { attributesOfFilter, parseFilter } from '../../ldap/filter/filter-parser.js';
import { type EntryKind, KINDS } from '../source.js';

const TYPES = { person: 'User', group: 'Group' } as const satisfies Record<EntryKind, string>;

/** A rule of visibility and the entries that it decides about. */
interface CountedRule {
  readonly where: string;
  readonly to: string;
  readonly what: string;
  readonly matches: (entry: Entry) => boolean;
  hidden: number;
}

/** Counts the entries with a value for each field of the model, and those that each rule hides. Without a model, nothing. */
export class ModelStatistics {
  private readonly totals: Record<EntryKind, number> = { person: 0, group: 0 };
  private readonly counts = new Map<Field, number>();
  /** The lists of rules of each kind. In each list, the first rule that matches decides. */
  private readonly rules: Readonly<Record<EntryKind, readonly (readonly CountedRule[])[]>>;

  constructor(private readonly mapping: DirectoryMapping) {
    const { users, groups } = mapping;
    this.rules = {
      person: [countedRules('users', users.rules)],
      group: [countedRules('groups', groups.rules), countedRules('members of groups', groups.memberRules)],
    };
  }

  /** The attributes that are needed to count entries of a kind. */
  attributesOf(kind: EntryKind): string[] {
    const ofRules = this.rules[kind].flat().flatMap(({ where }) => attributesOfFilter(parseFilter(where)));
    return [...this.fieldsOf(kind).flatMap(({ attributes }) => attributes), ...ofRules];
  }

  add(kind: EntryKind, entry: Entry): void {
    this.totals[kind]++;
    for (const field of this.fieldsOf(kind)) {
      const hasValue = field.attributes.some((attribute) => entry.bytes(attribute).length > 0);
      if (hasValue) this.counts.set(field, (this.counts.get(field) ?? 0) + 1);
    }
    for (const list of this.rules[kind]) {
      const rule = list.find(({ matches }) => matches(entry));
      if (rule !== undefined) rule.hidden++;
    }
  }

  *findings(): Generator<Finding> {
    for (const kind of KINDS) {
      for (const field of this.fieldsOf(kind)) {
        const count = this.counts.get(field) ?? 0;
        const text = `${TYPES[kind]}.${field.name}: ${field.attributes.join(' or ')} in ${count} of ${this.totals[kind]} entries`;
        yield count > 0 ? ok('fields', text) : warning('fields', text);
      }
      for (const { what, where, to, hidden } of this.rules[kind].flat())
        yield ok('visibility', `${where} hides ${hidden} ${what} from others than ${to}`);
    }
  }

  private fieldsOf(kind: EntryKind): Field[] {
    return mappedFields(mappingOf(this.mapping, kind).fields).filter(({ column }) => column === null);
  }
}

function countedRules(
  what: string,
  rules: readonly { readonly where: string; readonly to: string }[],
): CountedRule[] {
  return rules.map(({ where, to }) => ({ what, where, to, matches: compileFilter(where), hidden: 0 }));
}
