import { storedName } from '../../common/field.js';
import { type DirectoryMapping, mappingOf } from '../../config/model/mapping.js';
import {
  type ObjectKind,
  REFERENCE_TABLES,
  referenceFields,
} from '../../database/fields/field-references.js';
import type { Writer } from '../../database/statements/statement.js';
import type { EntryKind } from '../../sources/source.js';
import { ENTRY_TABLES } from '../map/entry-tables.js';
import type { Plan } from '../plan/plan.js';

/** An entry that stays the same, while what it refers to appears or vanishes. */
export interface Referring {
  readonly uuid: string;
  readonly id: string;
  /** The audience of what appears or vanishes: others do not learn of it by the change. 0: everyone. */
  readonly visibleTo: number;
}

/** The keys of DNs, and the audiences of their entries. */
type Targets = ReadonlyMap<string, number>;

type Found = Readonly<Record<EntryKind, Map<string, Referring>>>;

const KINDS = { user: 'person', group: 'group' } as const satisfies Record<ObjectKind, EntryKind>;

/**
 * Finds the entries whose custom fields refer to entries that vanish or appear, also by another DN: the objects of their
 * references differ although the entries do not. Without such fields there is no statement.
 */
export class ReferringEntries {
  private readonly found: Found = { person: new Map(), group: new Map() };
  /** The entryUUIDs of entries that get another DN. */
  private readonly moved = new Set<string>();

  private constructor(
    private readonly writer: Writer,
    private readonly plan: Plan,
    private readonly mapping: DirectoryMapping,
  ) {}

  /** Finds those whose references vanish, before the rows are written. */
  static async begin(writer: Writer, plan: Plan, mapping: DirectoryMapping): Promise<ReferringEntries> {
    const referring = new ReferringEntries(writer, plan, mapping);
    if (referring.hasFields) {
      await referring.find('user', await referring.vanishing('person'));
      await referring.find('group', await referring.vanishing('group'));
    }
    return referring;
  }

  /** Returns them all, after the rows are written, without those that are created, changed or deleted themselves. */
  async finish(): Promise<Readonly<Record<EntryKind, readonly Referring[]>>> {
    const { plan, found } = this;
    if (this.hasFields) {
      await this.find('user', this.present('person'));
      await this.find('group', this.present('group'));
    }
    const others = [
      ...plan.createdPeople,
      ...plan.updatedPeople,
      ...plan.createdGroups,
      ...plan.updatedGroups,
    ];
    const recorded = new Set([
      ...others.map(({ value }) => value.uuid),
      ...[...plan.deletedPeople, ...plan.deletedGroups].map(({ uuid }) => uuid),
    ]);
    const without = (kind: EntryKind) => [...found[kind].values()].filter(({ uuid }) => !recorded.has(uuid));
    return { person: without('person'), group: without('group') };
  }

  private get hasFields(): boolean {
    return [this.mapping.users, this.mapping.groups].some(({ fields }) => referenceFields(fields).length > 0);
  }

  /** The DNs that entries have no more. */
  private async vanishing(kind: EntryKind): Promise<Targets> {
    const { plan } = this;
    const [updated, deleted] =
      kind === 'person' ? [plan.updatedPeople, plan.deletedPeople] : [plan.updatedGroups, plan.deletedGroups];
    if (updated.length + deleted.length === 0) return new Map();
    const rows: { key: string; uuid: string; visibleTo: number }[] = await this.writer.query(
      `select e.dn_key::text as key, e.entry_uuid as uuid, e.visible_to as "visibleTo" from ${ENTRY_TABLES[kind]} e
         join unnest($1::uuid[], $2::uuid[]) as given (uuid, dn_key) on e.entry_uuid = given.uuid
       where e.dn_key is distinct from given.dn_key`,
      [
        [...updated.map(({ value }) => value.uuid), ...deleted.map(({ uuid }) => uuid)],
        [...updated.map(({ value }) => value.dnKey), ...deleted.map(() => null)],
      ],
    );
    for (const { uuid } of rows) this.moved.add(uuid);
    return new Map(rows.map(({ key, visibleTo }) => [key, visibleTo]));
  }

  /** The DNs that entries have for the first time. */
  private present(kind: EntryKind): Targets {
    const { plan } = this;
    const [created, updated] =
      kind === 'person' ? [plan.createdPeople, plan.updatedPeople] : [plan.createdGroups, plan.updatedGroups];
    const moved = updated.filter(({ value }) => this.moved.has(value.uuid));
    return new Map([...created, ...moved].map(({ value }) => [value.dnKey, value.visibleTo ?? 0]));
  }

  /** Finds the entries whose references to users, or to groups, have one of the targets. */
  private async find(to: ObjectKind, targets: Targets): Promise<void> {
    if (targets.size === 0) return;
    for (const from of Object.keys(KINDS) as ObjectKind[]) {
      const kind = KINDS[from];
      const fields = referenceFields(mappingOf(this.mapping, kind).fields).filter(
        ({ reference }) => reference.to === to,
      );
      if (fields.length === 0) continue;
      const rows: { uuid: string; id: string; target: string }[] = await this.writer.query(
        `select distinct e.entry_uuid as uuid, e.id, r.target from ${REFERENCE_TABLES[from]} r
           join ${ENTRY_TABLES[kind]} e on e.key = r.from_key
         where r.field = any ($1::text[]) and r.target = any ($2::text[])`,
        [fields.map(storedName), [...targets.keys()]],
      );
      for (const { uuid, id, target } of rows) {
        const others = this.found[kind].get(uuid)?.visibleTo ?? Infinity;
        this.found[kind].set(uuid, { uuid, id, visibleTo: Math.min(others, targets.get(target) ?? 0) });
      }
    }
  }
}
