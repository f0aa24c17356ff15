import { type Finding, ok, warning } from '../../common/finding.js';
import { type DirectoryMapping, mappingOf } from '../../config/model/mapping.js';
import {
  type ObjectKind,
  type ReferenceField,
  referenceFields,
} from '../../database/fields/field-columns.js';
import { decodeUtf8, type Entry } from '../../ldap/entry.js';
import type { Identified } from '../reference-key.js';
import { type EntryKind, KINDS } from '../source.js';
import { cureOfDangling, type Example, type KnownEntries } from './dangling-cause.js';
import { isMostlyWrong, type NamedSummary, NamedValues, type ReferenceOrigin } from './named-values.js';

interface Counted {
  readonly kind: EntryKind;
  readonly field: ReferenceField;
  readonly origin: ReferenceOrigin;
  readonly named: NamedValues;
}

interface OwnSummary extends NamedSummary {
  /** The number of values that name a mirrored entry of the other kind. They are not among the dangling ones. */
  readonly ofOtherKind: number;
}

const OTHER = { user: 'group', group: 'user' } as const;

/** Counts the references of custom fields, and those among them that name no mirrored entry. */
export class OwnReferenceStatistics {
  private readonly fields: readonly Counted[];
  private readonly known: Readonly<Record<ObjectKind, Set<string>>> = { user: new Set(), group: new Set() };

  constructor(mapping: DirectoryMapping) {
    this.fields = KINDS.flatMap((kind) =>
      referenceFields(mappingOf(mapping, kind).fields).map((field) => {
        const { to } = field.reference;
        const key = `${kind === 'person' ? 'users' : 'groups'}.fields.${field.name}`;
        return {
          kind,
          field,
          origin: { key, by: 'dn' as const, lists: [`${to}s`] as const },
          named: new NamedValues(),
        };
      }),
    );
  }

  /** @param identity null if the mirror rejects the entry */
  add(kind: EntryKind, entry: Entry, identity: Identified | null): void {
    if (identity === null || this.fields.length === 0) return;
    this.known[kind === 'person' ? 'user' : 'group'].add(identity.dnKey);
    for (const { field, origin, named } of this.fields.filter((each) => each.kind === kind)) {
      for (const bytes of field.attributes.flatMap((attribute) => entry.bytes(attribute))) {
        const text = decodeUtf8(bytes);
        if (text !== null) named.add([{ text, origin }]);
      }
    }
  }

  /**
   * How many references each field has, with a warning where many name no entry. It contains no names of entries. An attribute
   * may name users and groups, which two fields show.
   * @param known finds the cause of dangling references
   */
  *findings(known?: KnownEntries): Generator<Finding> {
    for (const counted of this.fields) {
      const { kind, field } = counted;
      const { to } = field.reference;
      const summary = this.summarize(counted);
      const { total, dangling, ofOtherKind, examples } = summary;
      const list = kind === 'person' ? 'users' : 'groups';
      const named = total - dangling - ofOtherKind;
      const other = ofOtherKind === 0 ? '' : `, and ${ofOtherKind} a mirrored ${OTHER[to]}`;
      const text = `${list}.${field.name}: ${named} of ${total} values name a mirrored ${to}${other}`;
      if (named === 0 && ofOtherKind > 0) yield warning('references', `${text}: ${cureOfKind(counted)}`);
      else if (isDangling(summary))
        yield warning('references', `${text}: ${cureOfDangling(examples, known)}`);
      else yield ok('references', text);
    }
  }

  /** Values that dangle, of each field of which many do. */
  get examples(): (readonly Example[])[] {
    const summaries = this.fields.map((counted) => this.summarize(counted));
    return summaries.filter(isDangling).map(({ examples }) => examples);
  }

  private summarize({ field, named }: Counted): OwnSummary {
    const { to } = field.reference;
    const { dangling: others } = named.summarize((key) => this.known[to].has(key));
    const summary = named.summarize((key) => this.known[to].has(key) || this.known[OTHER[to]].has(key));
    return { ...summary, ofOtherKind: others - summary.dangling };
  }
}

function isDangling({ total, dangling, ofOtherKind }: OwnSummary): boolean {
  return isMostlyWrong({ total: total - ofOtherKind, dangling });
}

function cureOfKind({ field, origin }: Counted): string {
  const type = field.type.replace(/User|Group/, (name) => (name === 'User' ? 'Group' : 'User'));
  const written = type.startsWith('[') ? `"${type}"` : type;
  return `set ${origin.key}.type to ${written}, because its values name ${OTHER[field.reference.to]}s`;
}
