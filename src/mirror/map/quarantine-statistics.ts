import { counted } from '../../common/counted.js';
import { foldId } from '../../common/identity.js';
import { type Finding, problem, warning } from '../../common/finding.js';
import { type DirectoryMapping, mappingOf, memberAttributesOf } from '../../config/model/mapping.js';
import type { Entry } from '../../ldap/entry.js';
import type { EntryStatistics } from '../../sources/check/entry-counts.js';
import { type EntryKind, KINDS } from '../../sources/source.js';
import { mapGroup, mapPerson } from './map.js';
import { SAME_ID } from '../revision/staging.js';
import type { MappedGroup, MappedPerson } from './map.js';

const LISTS = { person: 'users', group: 'groups' } as const satisfies Record<EntryKind, string>;
const NAMES = { person: 'people', group: 'groups' } as const satisfies Record<EntryKind, string>;

/** The share of quarantined entries or values, as one of so many, above which the model is probably wrong. */
const TOLERATED = 5;

interface Counts {
  total: number;
  readonly ids: Map<string, number>;
  /** The number of entries with a key of a DN, and the DNs that are equal to one before. */
  readonly dnKeys: Map<string, number>;
  readonly sameDns: string[];
  /** Entries that are left out, by reason. */
  readonly entries: Map<string, number>;
  /** The number of entries that have an attribute, and of those that are left out of it by reason. */
  readonly attributes: Map<string, { having: number; readonly reasons: Map<string, number> }>;
}

/** Counts what the mirror would quarantine, and what to set where that is more than a fifth. */
export class QuarantineStatistics implements EntryStatistics {
  private readonly counts: Readonly<Record<EntryKind, Counts>> = { person: newCounts(), group: newCounts() };

  constructor(private readonly mapping: DirectoryMapping) {}

  add(kind: EntryKind, entry: Entry): void {
    const counts = this.counts[kind];
    const mapped =
      kind === 'person' ? mapPerson(entry, this.mapping.users) : mapGroup(entry, this.mapping.groups);
    counts.total++;
    if (mapped.value !== null) addNames(counts, mapped.value);
    for (const attribute of this.attributesOf(kind)) {
      if (entry.bytes(attribute).length === 0) continue;
      const known = counts.attributes.get(attribute) ?? { having: 0, reasons: new Map<string, number>() };
      known.having++;
      counts.attributes.set(attribute, known);
    }
    const seen = new Set<string>();
    for (const { attribute, reason } of mapped.quarantined) {
      if (attribute === null) increment(counts.entries, reason);
      else if (!seen.has(attribute)) increment(counts.attributes.get(attribute)?.reasons, reason);
      seen.add(attribute ?? '');
    }
  }

  *findings(): Generator<Finding> {
    for (const kind of KINDS) {
      yield* this.describeEntries(kind);
      yield* this.describeSameDns(kind);
      yield* this.describeAttributes(kind);
    }
  }

  private *describeEntries(kind: EntryKind): Generator<Finding> {
    const { total, ids, entries } = this.counts[kind];
    const same = [...ids.values()].filter((count) => count > 1).reduce((sum, count) => sum + count, 0);
    const reasons = [...entries, ...(same === 0 ? [] : [[SAME_ID, same] as const])];
    const omitted = reasons.reduce((sum, [, count]) => sum + count, 0);
    if (omitted * TOLERATED <= total) return;
    const [[reason, most] = ['', 0]] = [...reasons].sort(([, left], [, right]) => right - left);
    const share = omitted === total ? `all ${total} entries` : `${omitted} of ${total} entries`;
    const text = `${share} would be quarantined: an entry ${reason} (${most}). Set ${this.cureOf(kind, reason)}`;
    yield omitted === total ? problem(NAMES[kind], text) : warning(NAMES[kind], text);
  }

  private *describeSameDns(kind: EntryKind): Generator<Finding> {
    const [dn] = this.counts[kind].sameDns;
    if (dn === undefined) return;
    const count = this.counts[kind].sameDns.length;
    const text = `${counted(count, 'entry has', 'entries have')} the DN of another entry if case is ignored, such as ${dn}`;
    yield warning(NAMES[kind], `${text}. References to them name no entry. Rename one of each`);
  }

  private *describeAttributes(kind: EntryKind): Generator<Finding> {
    for (const [attribute, { having, reasons }] of this.counts[kind].attributes) {
      const omitted = [...reasons.values()].reduce((sum, count) => sum + count, 0);
      if (omitted * TOLERATED <= having) continue;
      const [[reason] = ['']] = [...reasons].sort(([, left], [, right]) => right - left);
      const text = `${attribute} of ${omitted} of the ${having} entries that have it would be quarantined: it ${reason}`;
      yield warning(NAMES[kind], `${text}. Set ${this.keyOf(kind, attribute)}`);
    }
  }

  private cureOf(kind: EntryKind, reason: string): string {
    const list = LISTS[kind];
    if (reason.endsWith('which is its id')) return `${list}.id to an attribute that each entry has`;
    if (reason.endsWith('which is its name')) return `${list}.name to attributes of which each entry has one`;
    if (reason === SAME_ID) return `${list}.base or ${list}.filter so that they select each entry once`;
    return 'uuid to the attribute with the permanent id of an entry';
  }

  /** The key of the model that an attribute is read by. */
  private keyOf(kind: EntryKind, attribute: string): string {
    const list = LISTS[kind];
    const field = mappingOf(this.mapping, kind).fields.find((each) => each.attributes.includes(attribute));
    if (field === undefined) return `by of the role in ${list} to what its values are: dn, id or uuid`;
    if (field.column !== null) return `${list}.fields.${field.name} to another attribute`;
    return `${list}.fields.${field.name}.type to the type of its values, such as String`;
  }

  private attributesOf(kind: EntryKind): string[] {
    const ofFields = mappingOf(this.mapping, kind).fields.flatMap(({ attributes }) => attributes);
    const ofRoles = kind === 'group' ? memberAttributesOf(this.mapping.groups) : [];
    return [...new Set([...ofFields, ...ofRoles])];
  }
}

function addNames(counts: Counts, { id, dn, dnKey }: MappedPerson | MappedGroup): void {
  increment(counts.ids, foldId(id));
  increment(counts.dnKeys, dnKey);
  if (counts.dnKeys.get(dnKey) === 2) counts.sameDns.push(dn);
}

function newCounts(): Counts {
  return {
    total: 0,
    ids: new Map(),
    dnKeys: new Map(),
    sameDns: [],
    entries: new Map(),
    attributes: new Map(),
  };
}

function increment(counts: Map<string, number> | undefined, key: string): void {
  counts?.set(key, (counts.get(key) ?? 0) + 1);
}
