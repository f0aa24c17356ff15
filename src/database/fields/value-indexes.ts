import { createHash } from 'node:crypto';
import type { QueryRunner } from 'typeorm';
import type { Field } from '../../common/field.js';
import { FIELD_VALUES } from './field-columns.js';
import { comparedSql, filterTypeOf } from './value-filters.js';

/** Prefix of the names of indexes for the filters by custom fields. No other index has it. */
const PREFIX = 'values_of_';

interface ValueIndex {
  /** Contains a hash of the definition, so an index with this name has this definition. */
  readonly name: string;
  readonly definition: string;
}

/** The indexes for the filters by custom fields. Each holds the values, and the objects with equal ones in the order of pages. */
export function valueIndexesOf(table: 'users' | 'groups', fields: readonly Field[]): ValueIndex[] {
  const filtered = fields.filter((field) => filterTypeOf(field) !== null);
  return filtered.map((field) => {
    const sql = comparedSql(field, FIELD_VALUES);
    const definition = `on ${table} (${sql}, sort_name, key) where ${sql} is not null`;
    const hash = createHash('sha256').update(definition).digest('hex').slice(0, 16);
    return { name: `${PREFIX}${table}_${hash}`, definition };
  });
}

/**
 * Creates the missing indexes and drops those that no field needs. An index that an interruption has left invalid is
 * created again. Only the leader calls this.
 */
export async function keepValueIndexes(
  runner: QueryRunner,
  wanted: readonly ValueIndex[],
  signal: AbortSignal,
): Promise<void> {
  const existing = (await runner.query(
    `select c.relname as name, i.indisvalid as "isValid"
     from pg_index i join pg_class c on c.oid = i.indexrelid
     where c.relnamespace = to_regnamespace(current_schema()) and starts_with(c.relname::text, $1)`,
    [PREFIX],
  )) as { name: string; isValid: boolean }[];
  const kept = new Set(existing.filter(({ isValid }) => isValid).map(({ name }) => name));
  const names = new Set(wanted.map(({ name }) => name));
  for (const { name } of existing) {
    if (kept.has(name) && names.has(name)) continue;
    signal.throwIfAborted();
    await runner.query(`drop index concurrently if exists ${name}`);
  }
  const missing = wanted.filter(({ name }) => !kept.has(name));
  for (const { name, definition } of missing) {
    signal.throwIfAborted();
    await runner.query(`create index concurrently ${name} ${definition}`);
  }
  // The planner has no statistics of an expression before.
  if (missing.length > 0) await runner.query('analyze users, groups');
}
