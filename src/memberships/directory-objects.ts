import { LRUCache } from 'lru-cache';
import type { KeySeal } from '../common/cursor.js';
import { BadUserInputError, ServiceError } from '../common/errors.js';
import type { PageArguments, PageSelection, SelectedFields } from '../common/page.js';
import { findObject, lookupCondition, notFound, type TableNames } from '../database/fields/object-table.js';
import { type LookupKey, lookupOf, type ObjectInput } from '../common/identity.js';
import type { ProjectedColumns, Projection } from '../database/fields/projection.js';
import {
  Page,
  type PageQuery,
  type PageRow,
  type PageSource,
  planPage,
  type PreloadedPage,
  readPage,
} from '../database/paging/page.js';
import { type Reader, type Statement, statement } from '../database/statements/statement.js';
import type { SelectedList, SelectedObject } from '../graphql/analysis/selection.js';
import type { Batches } from '../graphql/http/request-context.js';
import { Connection } from '../graphql/schema/connection.js';
import type { MembershipArguments } from './membership.model.js';
import type { MembershipList } from './membership-list.js';

type UniqueProperty = 'key' | 'entryUuid';

/** A statement for any object: its identity is one of the values. */
interface LookupPlan {
  readonly query: PageQuery;
  readonly columns: ProjectedColumns;
  readonly cacheKey: string;
  readonly indexOfIdentity: number;
}

/** Pages of one list for which plans are kept: most clients request the first one. */
const MOST_PLANS = 10;
/** Maximum characters of the arguments of such a page, which a plan keeps in memory. */
const LONGEST_KEPT = 500;

export abstract class DirectoryObjects<
  Model extends { key: number; entryUuid: string; membershipsAhead: PreloadedPage | null },
  ListArguments extends PageArguments,
> {
  private readonly lookups: Readonly<Record<LookupKey, Statement>>;
  private readonly among: Readonly<Record<UniqueProperty, Statement>>;
  /** Selections are kept with their documents. */
  private readonly plans = new WeakMap<SelectedFields, LRUCache<string, LookupPlan>>();

  /** @param memberships those below an object, to whose resolver pages are handed over by cacheKeyOf */
  protected constructor(
    readonly names: TableNames,
    readonly projection: Projection<Model>,
    readonly memberships: MembershipList,
  ) {
    const { table, alias } = names;
    const columns = projection.all.columns.join(', ');
    const find = (by: LookupKey) => findObject(names, by, columns);
    this.lookups = { id: find('id'), nodeId: find('nodeId'), email: find('email') };
    // One row even if no object is found, for the revision.
    const among = (condition: string) =>
      statement(
        `select ${columns}, s.revision_uuid from mirror_state s left join ${table} ${alias} on ${alias}.${condition}`,
        { returnsRevision: true },
      );
    this.among = {
      key: among('key = any ($1::integer[])'),
      entryUuid: among('entry_uuid = any ($1::uuid[])'),
    };
  }

  /** @throws NotFoundError when an object that the filter names does not exist */
  abstract sourceOf(page: ListArguments, columns: ProjectedColumns, reader: Reader): Promise<PageSource>;

  /** @throws NotFoundError as `sourceOf` */
  async list(page: ListArguments, selection: PageSelection, reader: Reader): Promise<Connection<Model>> {
    const columns = this.projection.select(selection.node);
    const source = await this.sourceOf(page, columns, reader);
    const rows = await readPage(reader, source, page, selection);
    return Connection.of(rows, (row) => this.projection.mapRow(row, columns));
  }

  async find(input: ObjectInput, reader: Reader): Promise<Model | null> {
    const { by, value } = lookupOf(this.names, input);
    const [row] = await reader.read(this.lookups[by], [value]);
    return row === undefined || row[0] === null ? null : this.modelOf(row);
  }

  /** Throws NotFoundError with the name of the GraphQL argument. */
  async get(input: ObjectInput, argument: string, reader: Reader): Promise<Model> {
    return (await this.find(input, reader)) ?? this.reject(input, argument);
  }

  /** The object with a key, in one statement with all others that are requested at the same time. */
  findByKey(key: number, batches: Batches): Promise<Model | null> {
    return this.findBy('key', key, batches);
  }

  /** As findByKey. */
  findByUuid(uuid: string, batches: Batches): Promise<Model | null> {
    return this.findBy('entryUuid', uuid, batches);
  }

  private findBy(property: UniqueProperty, wanted: number | string, batches: Batches): Promise<Model | null> {
    return batches.load<number | string, Model | null>(
      `${this.names.table} by ${property}`,
      wanted,
      async (values, reader) => {
        const rows = await reader.read(this.among[property], [values]);
        const models = rows.filter(([key]) => key !== null).map((row) => this.modelOf(row));
        const found = new Map<number | string, Model>(models.map((model) => [model[property], model]));
        return values.map((each) => found.get(each) ?? null);
      },
    );
  }

  /** As `get`, with the page as `findSelected`. */
  async getSelected(
    input: ObjectInput,
    argument: string,
    selected: SelectedObject<MembershipArguments>,
    reader: Reader,
  ): Promise<Model> {
    return (await this.findSelected(input, selected, reader)) ?? this.reject(input, argument);
  }

  private reject(input: ObjectInput, argument: string): never {
    throw notFound(this.names, argument, lookupOf(this.names, input).by);
  }

  /** Reads an object with the selected page of memberships in one statement: the most frequent request. */
  async findSelected(
    input: ObjectInput,
    { fields, list }: SelectedObject<MembershipArguments>,
    reader: Reader,
  ): Promise<Model | null> {
    const { by, value } = lookupOf(this.names, input);
    const plan = list === null ? null : this.planFor(by, fields, list, reader.seal);
    // The resolver of the list reports the errors of its page.
    if (plan === null) return this.find(input, reader);
    const { query, columns, cacheKey, indexOfIdentity } = plan;
    const values = query.values.with(indexOfIdentity, value);
    const [row] = await reader.read<PageRow>(query.statement, values);
    const page = new Page(query, row, reader.seal);
    if ((page.parent[0] ?? null) === null) return null;
    const model = this.projection.mapRow(page.parent, columns);
    model.membershipsAhead = { cacheKey, page };
    return model;
  }

  private modelOf(row: readonly unknown[]): Model {
    return this.projection.mapRow(row, this.projection.all);
  }

  /** Null if the page is not valid. */
  private planFor(
    by: LookupKey,
    fields: SelectedFields,
    { page, selection }: SelectedList<MembershipArguments>,
    seal: KeySeal,
  ): LookupPlan | null {
    const { table, alias } = this.names;
    const cacheKey = this.memberships.cacheKeyOf(page, selection);
    const name = `${by} ${cacheKey}`;
    const plans = this.plans.get(fields) ?? new LRUCache<string, LookupPlan>({ max: MOST_PLANS });
    this.plans.set(fields, plans);
    const known = plans.get(name);
    if (known !== undefined) return known;
    const columns = this.projection.select(fields);
    try {
      const source = this.memberships.sourceOf(page, this.memberships.select(selection));
      const indexOfIdentity = source.values.all.length;
      const condition = lookupCondition(this.names, by, alias, source.values.add(null));
      // One row even if there is no such object. In that row only the revision is not null.
      const row = `(values (1)) one left join ${table} ${alias} on ${condition}`;
      const parents = {
        tables: [`${row} cross join lateral (select ${alias}.key as key) parent`],
        columns: columns.columns,
      };
      const query = planPage(source, page, selection, parents, seal);
      const plan = { query, columns, cacheKey, indexOfIdentity };
      if (name.length <= LONGEST_KEPT) plans.set(name, plan);
      return plan;
    } catch (error) {
      if (error instanceof ServiceError) return null;
      throw error;
    }
  }
}

/**
 * A filter in which deprecated members have the object and the role of one that takes their place.
 * @param object the member of `name` that identifies the object
 * @throws BadUserInputError
 */
export function withFormerNames<Filter extends Record<string, unknown>>(
  filter: Filter,
  name: string,
  object: string,
  former: string,
): Filter {
  const { [name]: together, ...others }: Record<string, unknown> = filter;
  if (together && (others[former] ?? others['role']))
    throw new BadUserInputError(`The filter ${name} takes the place of ${former} and role`, name);
  if (others['role'] && !others[former])
    throw new BadUserInputError(`The filter role requires ${former}`, 'role');
  if (!together) return filter;
  const { [object]: found, role = null } = together as Record<string, unknown>;
  return { ...others, [former]: found, role } as unknown as Filter;
}
