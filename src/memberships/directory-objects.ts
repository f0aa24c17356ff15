import { ServiceError } from '../common/errors.js';
import { foldId } from '../common/fold.js';
import type { SelectedFields } from '../common/page.js';
import { findById, notFound, type TableNames } from '../database/fields/object-table.js';
import type { ProjectedColumns, Projection } from '../database/fields/projection.js';
import { type PageAhead, readWithParent } from '../database/paging/page.js';
import { type PageQuery, planPage } from '../database/paging/page-query.js';
import { type Reader, REVISION, type Statement, statement } from '../database/statements/statement.js';
import type { SelectedList, SelectedObject } from '../graphql/analysis/selection.js';
import type { Batches } from '../graphql/http/request-context.js';
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

export abstract class DirectoryObjects<Model extends { key: number; membershipsAhead: PageAhead | null }> {
  private readonly byId: Statement;
  private readonly byKeys: Statement;
  /** Selections are kept with their documents. */
  private readonly plans = new WeakMap<SelectedFields, Map<string, Lookup>>();

  /** @param memberships those below an object */
  protected constructor(
    private readonly names: TableNames,
    protected readonly projection: Projection<Model>,
    private readonly memberships: MembershipList<object>,
  ) {
    const { table, alias } = names;
    const columns = projection.all.columns.join(', ');
    this.byId = findById(names, columns);
    this.byKeys = statement(
      `select ${columns}, ${REVISION} from ${table} ${alias} where ${alias}.key = any ($1::integer[])`,
      { returnsRevision: true },
    );
  }

  async find(id: string, reader: Reader): Promise<Model | null> {
    const [row] = await reader.read(this.byId, [foldId(id)]);
    return row === undefined || row[0] === null ? null : this.modelOf(row);
  }

  /** Throws NotFoundError with the name of the GraphQL argument. */
  async get({ id }: { readonly id: string }, argument: string, reader: Reader): Promise<Model> {
    const model = await this.find(id, reader);
    if (model === null) throw notFound(this.names, argument);
    return model;
  }

  /** The object with a key, in one statement with all others that are requested at the same time. */
  findByKey(key: number, batches: Batches): Promise<Model | null> {
    return batches.load<Model | null>(`${this.names.table} by key`, key, async (keys, reader) => {
      const rows = await reader.read(this.byKeys, [keys]);
      const models = new Map(rows.map((row) => this.modelOf(row)).map((model) => [model.key, model]));
      return keys.map((each) => models.get(each) ?? null);
    });
  }

  /** Reads an object with the selected page of memberships in one statement: the most frequent request. */
  async findSelected(
    id: string,
    { fields, list }: SelectedObject<MembershipArguments>,
    reader: Reader,
  ): Promise<Model | null> {
    const lookup = list === null ? null : this.planFor(fields, list);
    // The resolver of the list reports the errors of its page.
    if (lookup === null) return this.find(id, reader);
    const { query, columns, pageName, indexOfId } = lookup;
    const values = query.values.with(indexOfId, foldId(id));
    const found = await readWithParent(reader, { ...query, values });
    if (found === null) return null;
    const model = this.projection.mapRow(found.parent, columns);
    model.membershipsAhead = { name: pageName, page: found.page };
    return model;
  }

  private modelOf(row: readonly unknown[]): Model {
    return this.projection.mapRow(row, this.projection.all);
  }

  private planFor(fields: SelectedFields, list: SelectedList<MembershipArguments>): Lookup | null {
    const pageName = this.memberships.nameOf(list.page, list.selection);
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

  /** Null if the page is not valid. */
  private tryToPlan(
    pageName: string,
    fields: SelectedFields,
    { page, selection }: SelectedList<MembershipArguments>,
  ): Lookup | null {
    const { table, alias, total } = this.names;
    const columns = this.projection.select(fields);
    try {
      const source = this.memberships.sourceOf(page, this.memberships.select(selection));
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
