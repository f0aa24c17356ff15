import { ServiceError } from '../common/errors.js';
import { foldId } from '../common/fold.js';
import type { SelectedFields } from '../common/page.js';
import type { TableNames } from '../database/fields/object-table.js';
import type { ProjectedColumns, Projection } from '../database/fields/projection.js';
import { type PageAhead, readWithParent } from '../database/paging/page.js';
import { type PageQuery, planPage } from '../database/paging/page-query.js';
import type { Reader } from '../database/statements/statement.js';
import type { SelectedList, SelectedObject } from '../graphql/analysis/selection.js';
import type { MembershipArguments } from './membership.inputs.js';
import type { MembershipList } from './membership-list.js';

/** A statement for any id: the id is one of its values. */
interface Lookup {
  readonly query: PageQuery;
  readonly columns: ProjectedColumns;
  readonly pageName: string;
  readonly indexOfId: number;
}

/** Pages of one list for which plans are kept: most clients request the first one. */
const MOST_PLANS = 10;

/**
 * Finds one user or one group by id, in one statement with the page of memberships that is selected below it: the most
 * frequent request.
 */
export class MembershipLookup<Parent extends { membershipsAhead: PageAhead | null }> {
  /** Selections are kept with their documents. */
  private readonly plans = new WeakMap<SelectedFields, Map<string, Lookup>>();

  constructor(
    private readonly parent: TableNames,
    private readonly projection: Projection<Parent>,
    private readonly list: MembershipList<object>,
  ) {}

  /**
   * @returns undefined when no page is selected that can be read together with its parent: then the parent is read alone, and
   *   the resolver of the list reports what is wrong with the page
   */
  async find(
    id: string,
    { fields, list }: SelectedObject<MembershipArguments>,
    reader: Reader,
  ): Promise<Parent | null | undefined> {
    const lookup = list === null ? null : this.planFor(fields, list);
    if (lookup === null) return undefined;
    const { query, columns, pageName, indexOfId } = lookup;
    const values = query.values.with(indexOfId, foldId(id));
    const found = await readWithParent(reader, { ...query, values });
    if (found === null) return null;
    const parent = this.projection.mapRow(found.parent, columns);
    parent.membershipsAhead = { name: pageName, page: found.page };
    return parent;
  }

  private planFor(fields: SelectedFields, list: SelectedList<MembershipArguments>): Lookup | null {
    const pageName = this.list.nameOf(list.page, list.selection);
    let plans = this.plans.get(fields);
    if (plans === undefined || plans.size === MOST_PLANS) {
      plans = new Map();
      this.plans.set(fields, plans);
    }
    let lookup = plans.get(pageName) ?? null;
    if (lookup === null) {
      lookup = this.tryToPlan(pageName, fields, list);
      if (lookup !== null) plans.set(pageName, lookup);
    }
    return lookup;
  }

  private tryToPlan(
    pageName: string,
    fields: SelectedFields,
    { page, selection }: SelectedList<MembershipArguments>,
  ): Lookup | null {
    const { table, alias, total } = this.parent;
    const columns = this.projection.select(fields);
    try {
      const source = this.list.sourceOf(page, this.list.select(selection));
      const indexOfId = source.values.all.length;
      const sought = {
        from: `${table} ${alias}`,
        key: `${alias}.key`,
        condition: `${alias}.id_folded = ${source.values.add(null)}`,
        columns: columns.columns,
        total,
      };
      return { query: planPage(source, page, selection, sought), columns, pageName, indexOfId };
    } catch (error) {
      if (error instanceof ServiceError) return null;
      throw error;
    }
  }
}
