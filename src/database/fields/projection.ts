import {
  type Field,
  type FieldDefinition,
  type FieldReference,
  isInstant,
  isList,
  levelOf,
  mappedFields,
  pictureFields,
  storedName,
} from '../../common/field.js';
import type { SelectedFields } from '../../common/page.js';
import { isInAudience } from '../visibility/conditions.js';
import { comparedName, comparedText, FIELD_VALUES } from './filters.js';

/** SQL for the value of a field, read from the table of users or groups with this alias. */
export function sqlOfField(field: Field, alias: string): string {
  return field.column === null ? storedValue(field, alias) : `${alias}.${field.column}`;
}

/** No expression fails on a value that the field had with another type, which stays until it is read again. */
function storedValue(field: Field, alias: string): string {
  const values = `${alias}.${FIELD_VALUES}`;
  const value = `${values} -> '${storedName(field)}'`;
  const text = `${values} ->> '${storedName(field)}'`;
  if (isList(field) || field.reader === 'reference') {
    return field.reader === 'lines'
      ? `case jsonb_typeof(${value}) when 'array' then ${value} else '[]' end`
      : `coalesce(${value}, '[]')`;
  }
  switch (field.reader) {
    case 'integer':
    case 'number':
      return `(${value})`;
    case 'boolean':
      return `case ${text} when 'true' then true when 'false' then false end`;
    case 'time':
      return `case when ${text} like '____-__-__T__:__:__.___Z' then ${text} end`;
    default:
      return text;
  }
}

const BOOLEAN_READERS: ReadonlySet<Field['reader']> = new Set(['boolean', 'picture', 'activity']);
const JSON_READERS: ReadonlySet<Field['reader']> = new Set(['integer', 'number', 'reference']);

/** Type of the SQL of a field. Values of one type can be in one column of a union. */
export function sqlTypeOf(field: Field): 'jsonb' | 'timestamptz' | 'boolean' | 'text' {
  const { column, reader } = field;
  if (column === null && (isList(field) || JSON_READERS.has(reader))) return 'jsonb';
  if (column !== null && isInstant(field)) return 'timestamptz';
  return BOOLEAN_READERS.has(reader) ? 'boolean' : 'text';
}

/** SQL for the value of a field, null for viewers that do not see it. */
function visibleSql(field: Field, alias: string): string {
  const sql = sqlOfField(field, alias);
  if (field.visibleTo === undefined) return sql;
  return `case when ${isInAudience(field.visibleTo, alias === 'g' ? 'group' : 'user', `${alias}.key`)} then ${sql} end`;
}

/** Where the properties of a user or a group are read from. */
export interface PropertyTable {
  readonly alias: string;
  /** Prefix of carried columns, such as `m.user_`. Default: all properties come from the table itself. */
  readonly carriedAs?: string;
}

/**
 * SQL for every property of a user or a group, by name. `key` is the primary key of the row, and `entryUuid` the identity
 * of the entry.
 */
export function propertyColumns(
  fields: readonly Field[],
  { alias, carriedAs }: PropertyTable,
): Record<string, string> {
  const columns: Record<string, string> = {
    key: carriedAs === undefined ? `${alias}.key` : `${carriedAs}key`,
    entryUuid: `${alias}.entry_uuid`,
  };
  for (const field of fields) {
    if (field.reader === 'reference') continue;
    const carried = field.isCarried === true ? carriedAs : undefined;
    if (field.reader !== 'picture') {
      columns[field.name] =
        carried === undefined ? visibleSql(field, alias) : `${carried}${carriedName(field)}`;
    } else {
      columns[levelOf(field)] =
        carried === undefined
          ? `case when ${sqlOfField(field, alias)} is not null then ${alias}.visible_to end`
          : `case when ${carried}${carriedName(field)} then ${carried}visible_to end`;
    }
  }
  return columns;
}

/** Name of the column of a carried field, without `user_` or `group_`. */
function carriedName({ name, column, reader }: FieldDefinition): string {
  return `${reader === 'picture' ? 'has_' : ''}${column ?? name}`;
}

export function carriedNames(fields: readonly FieldDefinition[]): string[] {
  const carried = fields.filter(({ isCarried }) => isCarried === true);
  return carried.flatMap((field) => [carriedName(field), ...comparedColumns(field)]);
}

/** The column with what a filter compares, if the field has one. */
export function comparedColumns(field: FieldDefinition): string[] {
  return field.column === null ? [] : [comparedName(field) ?? []].flat();
}

/** SQL for the columns that memberships carry, by their names without `user_` or `group_`. */
export function carriedColumns(fields: readonly Field[], alias: string): Record<string, string> {
  const columns = fields
    .filter(({ isCarried }) => isCarried === true)
    .flatMap((field): [string, string][] => {
      const sql = sqlOfField(field, alias);
      const compared = comparedColumns(field).map((name): [string, string] => [name, `${alias}.${name}`]);
      return [[carriedName(field), field.reader === 'picture' ? `${sql} is not null` : sql], ...compared];
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
  const names = inJson.map(storedName);
  const compared = inJson.flatMap((field) => {
    const name = comparedName(field);
    return name === null ? [] : [{ name, field, of: storedName(field) }];
  });
  const textOf = (field: Field, text: unknown) =>
    typeof text === 'string' ? comparedText(field, text) : null;
  const columns = mapped.flatMap((field): WrittenColumn<Value>[] => {
    const { name, column, reader } = field;
    if (column === null) return [];
    const also = comparedColumns(field).map((each) => ({
      name: each,
      type: 'text',
      valueOf: (value: Value) => textOf(field, value[name]),
    }));
    return [{ name: column, type: SQL_TYPES[reader] ?? 'text', valueOf: (value) => value[name] }, ...also];
  });
  const json = (value: Value) => {
    const held = names.flatMap((name) =>
      (value[name] ?? null) === null ? [] : [[name, value[name]] as const],
    );
    if (held.length === 0) return null;
    const keys = compared.flatMap(({ name, field, of }) => {
      const text = textOf(field, value[of]);
      return text === null ? [] : [[name, text] as const];
    });
    return JSON.stringify(Object.fromEntries([...held, ...keys]));
  };
  return [...columns, { name: FIELD_VALUES, type: 'jsonb', valueOf: json }];
}

const SQL_TYPES: Partial<Record<Field['reader'], string>> = {
  picture: 'bytea',
  time: 'timestamptz',
  boolean: 'boolean',
};

/** The objects that have references, or that references name. */
export type ObjectKind = FieldReference['to'];

/** A field that refers to users or groups. */
export interface ReferenceField extends Field {
  readonly reference: FieldReference;
}

export function referenceFields(fields: readonly Field[]): ReferenceField[] {
  return fields.filter((field): field is ReferenceField => field.reference !== undefined);
}

export interface ProjectedColumns {
  readonly properties: readonly string[];
  readonly columns: readonly string[];
}

/** The parts of a projection that its fields do not define. */
interface ProjectedModel<Model> {
  readonly type: new () => Model;
  /** The field of its memberships, and the field of a membership that is the same object. */
  readonly list: string;
  readonly node: string;
  /** Fields that resolvers compute, and the properties that they need. */
  readonly computed: Readonly<Record<string, readonly string[]>>;
  /** Columns of properties that are not fields, by the property. Memberships carry them. */
  readonly extra?: Readonly<Record<string, string>>;
}

/** Reads users or groups from a table: only the columns of a selection, mapped to models. */
export class Projection<Model extends object> {
  readonly columns: Readonly<Record<string, string>>;
  /** The columns that are instants. In JSONB, instants are text already. */
  readonly instants: readonly string[];
  readonly all: ProjectedColumns;
  /** Types of the columns of fields, by property. */
  readonly types: ReadonlyMap<string, ReturnType<typeof sqlTypeOf>>;
  /** The properties that each field needs, by field name. A field that is a property needs itself. */
  private readonly needs: Readonly<Record<string, readonly string[]>>;
  /** Selections are cached with their documents, so the same object returns with every request. */
  private readonly known = new WeakMap<SelectedFields, ProjectedColumns>();

  constructor(
    private readonly model: ProjectedModel<Model>,
    fields: readonly Field[],
    table: PropertyTable,
  ) {
    const prefix = table.carriedAs ?? `${table.alias}.`;
    const extra = Object.entries(model.extra ?? {}).map(([name, column]) => [name, `${prefix}${column}`]);
    this.columns = {
      ...propertyColumns(fields, table),
      ...(Object.fromEntries(extra) as Record<string, string>),
    };
    this.instants = fields
      .filter((field) => field.column !== null && isInstant(field))
      .map(({ name }) => this.columns[name] ?? '');
    this.types = new Map(fields.map((field) => [field.name, sqlTypeOf(field)]));
    const pictures = pictureFields(fields).map(
      (field) => [field.name, ['key', 'id', levelOf(field)]] as const,
    );
    const references = fields
      .filter(({ reader }) => reader === 'reference')
      .map(({ name }): [string, string[]] => [name, ['key']]);
    const ofEveryObject = { __typename: [], nodeId: ['entryUuid'], ...Object.fromEntries(references) };
    this.needs = { ...ofEveryObject, ...Object.fromEntries(pictures), ...model.computed };
    this.all = this.columnsOf(Object.keys(this.columns));
  }

  /** Returns the columns for the selected fields. An unknown field requires all columns. */
  select(fields: SelectedFields): ProjectedColumns {
    let selected = this.known.get(fields);
    if (selected === undefined) {
      const names = [...this.namesIn(fields)];
      const needed = new Set(names.flatMap((name) => this.needs[name] ?? this.propertyOr(name)));
      selected = this.columnsOf(Object.keys(this.columns).filter((property) => needed.has(property)));
      this.known.set(fields, selected);
    }
    return selected;
  }

  hasField(name: string): boolean {
    return name in this.columns || name in this.needs;
  }

  /** @param offset index of the first projected column in the row */
  mapRow(row: readonly unknown[], { properties }: ProjectedColumns, offset = 0): Model {
    const model = new this.model.type();
    properties.forEach((property, index) => {
      (model as Record<string, unknown>)[property] = row[offset + index];
    });
    return model;
  }

  private propertyOr(name: string): readonly string[] {
    return name in this.columns ? [name] : Object.keys(this.columns);
  }

  private columnsOf(properties: readonly string[]): ProjectedColumns {
    return { properties, columns: properties.map((property) => this.columns[property] ?? 'null') };
  }

  /** The selected fields, including those selected again through the object's own memberships. */
  private *namesIn(fields: SelectedFields): Generator<string> {
    yield* fields.keys();
    const { list, node } = this.model;
    const connection = fields.get(list);
    const listed = [connection?.get('nodes'), connection?.get('edges')?.get('node')];
    for (const membership of [...listed, fields.get('membership')]) {
      const again = membership?.get(node);
      if (again !== undefined) yield* this.namesIn(again);
    }
  }
}
