import { type Field, mappedFields, presenceOf } from '../../common/field.js';

/** The JSONB column with the values of fields that have no column of their own. */
export const FIELD_VALUES = 'field_values';

/** SQL for the value of a field, read from the table of users or groups with this alias. */
export function sqlOfField({ name, column, reader }: Field, alias: string): string {
  if (column !== null) return `${alias}.${column}`;
  const value = `${alias}.${FIELD_VALUES}`;
  switch (reader) {
    case 'time':
      return `(${value} ->> '${name}')::timestamptz`;
    case 'boolean':
      return `(${value} ->> '${name}')::boolean`;
    case 'lines':
      return `coalesce(${value} -> '${name}', '[]')`;
    default:
      return `${value} ->> '${name}'`;
  }
}

/** Where the properties of a user or a group are read from. */
export interface PropertyTable {
  readonly alias: string;
  /** Prefix of carried columns, such as `m.user_`. Default: all properties come from the table itself. */
  readonly carriedAs?: string;
}

/** SQL for every property of a user or a group, by name. `key` is the primary key of the row. */
export function propertyColumns(
  fields: readonly Field[],
  { alias, carriedAs }: PropertyTable,
): Record<string, string> {
  const columns: Record<string, string> = {
    key: carriedAs === undefined ? `${alias}.key` : `${carriedAs}key`,
  };
  for (const field of fields) {
    const carried = field.isCarried === true ? carriedAs : undefined;
    if (field.reader !== 'picture') {
      columns[field.name] =
        carried === undefined ? sqlOfField(field, alias) : `${carried}${field.column ?? field.name}`;
    } else {
      columns[presenceOf(field)] =
        carried === undefined
          ? `${sqlOfField(field, alias)} is not null`
          : `${carried}has_${field.column ?? field.name}`;
    }
  }
  return columns;
}

/** SQL for the columns that memberships carry, by their names without `user_` or `group_`. */
export function carriedColumns(fields: readonly Field[], alias: string): Record<string, string> {
  const columns = fields
    .filter(({ isCarried }) => isCarried === true)
    .map((field): [string, string] => {
      const name = field.column ?? field.name;
      const sql = sqlOfField(field, alias);
      return field.reader === 'picture' ? [`has_${name}`, `${sql} is not null`] : [name, sql];
    });
  return { sort_name: `${alias}.sort_name`, ...Object.fromEntries(columns) };
}

export interface WrittenColumn<Value> {
  readonly name: string;
  readonly type: string;
  readonly valueOf: (value: Value) => unknown;
}

export function writtenColumns<Value extends Readonly<Record<string, unknown>>>(
  fields: readonly Field[],
): WrittenColumn<Value>[] {
  const mapped = mappedFields(fields);
  const inJson = mapped.filter(({ column }) => column === null);
  const columns = mapped.flatMap(({ name, column, reader }): WrittenColumn<Value>[] =>
    column === null
      ? []
      : [{ name: column, type: SQL_TYPES[reader] ?? 'text', valueOf: (value) => value[name] }],
  );
  const json = (value: Value) => {
    const held = inJson.flatMap(({ name }) =>
      (value[name] ?? null) === null ? [] : [[name, value[name]] as const],
    );
    return held.length === 0 ? null : JSON.stringify(Object.fromEntries(held));
  };
  return [...columns, { name: FIELD_VALUES, type: 'jsonb', valueOf: json }];
}

const SQL_TYPES: Partial<Record<Field['reader'], string>> = {
  picture: 'bytea',
  time: 'timestamptz',
  boolean: 'boolean',
};
