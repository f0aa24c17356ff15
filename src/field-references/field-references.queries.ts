import { bindCursor } from '../common/cursor.js';
import { storedName } from '../common/field.js';
import { isInAudience } from '../database/visibility/conditions.js';
import type { ObjectKind, ProjectedColumns, ReferenceField } from '../database/fields/projection.js';
import type { OrderColumn, PageSource } from '../database/paging/page-query.js';
import { REVISION, type Statement, statement } from '../database/statements/statement.js';

/** The tables of the objects, with the aliases that their projections use. */
const TABLES = { user: { name: 'users', alias: 'u' }, group: { name: 'groups', alias: 'g' } } as const;

/** A field of users or of groups that refers to users or groups. */
export interface Reference {
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
export function referringSource(
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
    binding: bindCursor(`${from}s by ${field.name}`, order, filter),
    from: `${source.from} join "references" r on r.from_key = ${alias}.key`,
    parent: 'r.target',
    // All values of a field name others in one form, so one name of the parent is used.
    parentValue: (key) => `(
      select n.name from names n where n.key = (select target.key from ${targets} target where target.key = ${key})
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
