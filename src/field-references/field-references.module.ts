import { Injectable, Module } from '@nestjs/common';
import type { GraphQLResolveInfo } from 'graphql';
import { bindCursor } from '../common/cursor.js';
import { storedName } from '../common/field.js';
import {
  type ObjectKind,
  type ProjectedColumns,
  type ReferenceField,
  referenceFields,
} from '../database/fields/projection.js';
import { type OrderColumn, type PageSource, readPages } from '../database/paging/page.js';
import { REVISION, type Statement, statement } from '../database/statements/statement.js';
import { isInAudience } from '../database/visibility/conditions.js';
import { objectSelection, pageSelection } from '../graphql/analysis/selection.js';
import type { RequestContext } from '../graphql/http/request-context.js';
import { Connection } from '../graphql/schema/connection.js';
import { nameOfOriginal } from '../graphql/analysis/personal-data-selection.js';
import { type Parent, ReferenceResolver } from '../graphql/schema/derived-fields.js';
import type { GroupListArguments } from '../groups/group-list.inputs.js';
import { GroupsModule } from '../groups/groups.module.js';
import { GroupsService } from '../groups/groups.service.js';
import type { UserListArguments } from '../users/user-list.inputs.js';
import { UsersModule } from '../users/users.module.js';
import { UsersService } from '../users/users.service.js';

/** The tables of the objects, with the aliases that their projections use. */
const TABLES = { user: { name: 'users', alias: 'u' }, group: { name: 'groups', alias: 'g' } } as const;

/** A field of users or of groups that refers to users or groups. */
interface Reference {
  readonly from: ObjectKind;
  readonly field: ReferenceField;
}

/** Reads what the objects with given keys refer to, by name. The key of the referring object is the first column. */
export function referredStatement({ from, field }: Reference, { columns }: ProjectedColumns): Statement {
  const { name, alias } = TABLES[field.reference.to];
  return statement(
    `select ${['given.key', ...columns, REVISION].join(', ')}
     from unnest($1::integer[]) given (key)
       join "references" r on r.from_key = given.key
       join names n on n.name = r.target
       join ${name} ${alias} on ${alias}.key = n.key
     where ${conditionsOf({ from, field }).join(' and ')}
     order by ${alias}.sort_name, ${alias}.key`,
    { returnsRevision: true },
  );
}

/**
 * Restricts a list of objects to those that refer to each of the parents.
 * @param source a list of all objects of the kind that has the field
 */
function referringSource(
  { from, field }: Reference,
  source: PageSource,
  order: object,
  filter: object,
): PageSource {
  const { alias } = TABLES[from];
  const { name: targets } = TABLES[field.reference.to];
  // Rows come from the index in the order of names, which references carry.
  const carried: Record<string, string> = {
    [`${alias}.sort_name`]: 'r.from_sort_name',
    [`${alias}.key`]: 'r.from_key',
  };
  const isByName = source.order.columns[0]?.sql === `${alias}.sort_name`;
  const columns = source.order.columns.map((each): OrderColumn =>
    isByName ? { ...each, sql: carried[each.sql] ?? each.sql } : each,
  );
  const { total, ...listed } = source;
  return {
    ...listed,
    binding: () => bindCursor(`${from}s by ${field.name}`, order, filter),
    from: `${source.from} join "references" r on r.from_key = ${alias}.key`,
    // All values of a field name others in one form, so one name of the parent is used.
    underParent: `r.target = (
      select n.name from names n where n.key = (select target.key from ${targets} target where target.key = parent.key)
        and exists (select from "references" o where o.field = '${storedName(field)}' and o.target = n.name) limit 1)`,
    order: { ...source.order, columns },
    conditions: [...source.conditions, ...conditionsOf({ from, field })],
  };
}

function conditionsOf({ from, field }: Reference): string[] {
  const { visibleTo } = field;
  const conditions = [`r.field = '${storedName(field)}'`];
  return visibleTo === undefined ? conditions : [...conditions, isInAudience(visibleTo, from, 'r.from_key')];
}

type Info = Pick<GraphQLResolveInfo, 'parentType' | 'fieldName'>;

/** Reads the references of custom fields and those who refer, for all objects of a level in one statement. */
@Injectable()
class FieldReferencesService extends ReferenceResolver {
  /** By kind and name of the GraphQL field. */
  private readonly forward = new Map<string, Reference>();
  private readonly backward = new Map<string, Reference>();

  constructor(
    private readonly users: UsersService,
    private readonly groups: GroupsService,
  ) {
    super();
    const kinds = [
      ['user', users.projection.fields],
      ['group', groups.projection.fields],
    ] as const;
    for (const [from, fields] of kinds) {
      for (const field of referenceFields(fields)) {
        this.forward.set(`${from} ${field.name}`, { from, field });
        this.backward.set(`${field.reference.to} ${field.reference.reverse ?? ''}`, { from, field });
      }
    }
  }

  async one(...given: Parameters<FieldReferencesService['list']>): Promise<unknown> {
    const [first = null] = await this.list(...given);
    return first;
  }

  list(
    { key }: Parent,
    _given: unknown,
    { batches }: RequestContext,
    info: GraphQLResolveInfo,
  ): Promise<readonly object[]> {
    const reference = find(this.forward, info);
    const { projection } = this.objectsOf(reference.field.reference.to);
    const columns = projection.select(objectSelection(info, '').fields);
    const name = `${reference.from}.${reference.field.name} ${columns.properties.join(' ')}`;
    return batches.load<number, readonly object[]>(name, key, async (keys, reader) => {
      const rows = await reader.read<[number, ...unknown[]]>(referredStatement(reference, columns), [keys]);
      const found = new Map(keys.map((each) => [each, [] as object[]]));
      for (const row of rows) found.get(row[0])?.push(projection.mapRow(row, columns, 1));
      return keys.map((each) => found.get(each) ?? []);
    });
  }

  reverse(
    { key }: Parent,
    page: UserListArguments & GroupListArguments,
    { batches }: RequestContext,
    info: GraphQLResolveInfo,
  ): Promise<Connection<object>> {
    const reference = find(this.backward, info);
    const objects = this.objectsOf(reference.from);
    const selection = pageSelection(info);
    const columns = objects.projection.select(selection.node);
    const name = `${info.parentType.name}.${info.fieldName} ${selection.cacheKey} ${JSON.stringify(page)}`;
    return batches.load<number, Connection<object>>(name, key, async (keys, reader) => {
      const all = await objects.sourceOf(page, columns, reader);
      const source = referringSource(reference, all, page.orderBy ?? {}, page.filter ?? {});
      const pages = await readPages(reader, source, page, selection, keys);
      return pages.map((each) => Connection.of(each, (row) => objects.projection.mapRow(row, columns)));
    });
  }

  private objectsOf(kind: ObjectKind): UsersService | GroupsService {
    return kind === 'user' ? this.users : this.groups;
  }
}

function find(references: ReadonlyMap<string, Reference>, { parentType, fieldName }: Info): Reference {
  const reference = references.get(
    `${nameOfOriginal(parentType) === 'Group' ? 'group' : 'user'} ${fieldName}`,
  );
  if (reference === undefined) throw new Error(`${parentType.name}.${fieldName} is not a reference`);
  return reference;
}

@Module({
  imports: [GroupsModule, UsersModule],
  providers: [{ provide: ReferenceResolver, useClass: FieldReferencesService }],
})
export class FieldReferencesModule {}
