import {
  type Field,
  type FieldDefinition,
  isList,
  isMapped,
  pictureFields,
  storedName,
} from '../../common/field.js';
import type { SelectedFields } from '../../common/page.js';
import { isInAudience } from '../visibility/conditions.js';
import { comparedName, comparedText, FIELD_VALUES } from './filters.js';

/** SQL for an instant as the text that the API and JSONB have. */
export function instantText(sql: string): string {
  return `to_char(${sql} at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`;
}

/** SQL for the value of a field, read from the table of users or groups with this alias. Names in JSONB contain the type. */
function sqlOfField(field: Field, alias: string): string {
  const { column, reader, type } = field;
  if (column !== null)
    return type.startsWith('DateTime') ? instantText(`${alias}.${column}`) : `${alias}.${column}`;
  const [value, text] = ['->', '->>'].map((get) => `${alias}.${FIELD_VALUES} ${get} '${storedName(field)}'`);
  if (isList(field) || reader === 'reference') return `coalesce(${value}, '[]')`;
  if (reader === 'boolean') return `(${text})::boolean`;
  return reader === 'integer' || reader === 'number' ? `(${value})` : `(${text})`;
}

/** Where the properties of a user or a group are read from. */
interface PropertyTable {
  readonly alias: string;
  /** Prefix of carried columns, such as `m.user_`. Default: all properties come from the table itself. */
  readonly carriedAs?: string;
}

/** SQL for every property of a user or a group, by name. */
function propertyColumns(
  fields: readonly Field[],
  { alias, carriedAs }: PropertyTable,
): Record<string, string> {
  const columns: Record<string, string> = {
    key: `${carriedAs ?? `${alias}.`}key`,
    entryUuid: `${alias}.entry_uuid`,
  };
  for (const field of fields.filter(({ reader }) => reader !== 'reference')) {
    const { name, reader, visibleTo } = field;
    const prefix = field.isCarried === true ? carriedAs : undefined;
    const sql = prefix === undefined ? sqlOfField(field, alias) : `${prefix}${carriedName(field)}`;
    if (reader === 'picture') {
      const exists = prefix === undefined ? `${sql} is not null` : sql;
      columns[`${field.name}Level`] = `case when ${exists} then ${prefix ?? `${alias}.`}visible_to end`;
    } else if (visibleTo === undefined) columns[name] = sql;
    else
      columns[name] =
        `case when ${isInAudience(visibleTo, alias === 'g' ? 'group' : 'user', `${alias}.key`)} then ${sql} end`;
  }
  return columns;
}

/** Name of the column of a carried field, without `user_` or `group_`. */
function carriedName({ name, column, reader }: FieldDefinition): string {
  return `${reader === 'picture' ? 'has_' : ''}${column ?? name}`;
}

/** SQL for the columns that memberships carry, by their names without `user_` or `group_`. */
export function carriedColumns(fields: readonly Field[], alias: string): Record<string, string> {
  const columns = fields
    .filter(({ isCarried }) => isCarried === true)
    .map((field): [string, string] => {
      const sql = sqlOfField(field, alias);
      return [carriedName(field), field.reader === 'picture' ? `${sql} is not null` : sql];
    });
  return { sort_name: `${alias}.sort_name`, ...Object.fromEntries(columns) };
}

type ValueOf = (value: Readonly<Record<string, unknown>>) => unknown;

/** The columns of users or groups that the values of an entry fill, by name. */
export function writtenColumns(fields: readonly Field[]): ReadonlyMap<string, ValueOf> {
  const columns = new Map<string, ValueOf>();
  const textOf = (field: Field, value: unknown) =>
    typeof value === 'string' ? comparedText(field, value) : null;
  const inJson = fields.filter(isMapped).filter(({ column }) => column === null);
  for (const field of fields.filter(isMapped)) {
    const { name, column } = field;
    const compared = comparedName(field);
    if (column === null) continue;
    columns.set(column, (value) => value[name]);
    if (compared !== null) columns.set(compared, (value) => textOf(field, value[name]));
  }
  columns.set(FIELD_VALUES, (value) => {
    const held: Record<string, unknown> = {};
    for (const field of inJson) {
      const stored = value[storedName(field)] ?? null;
      const compared = comparedName(field);
      if (stored !== null) held[storedName(field)] = stored;
      if (typeof stored === 'string' && compared !== null) held[compared] = textOf(field, stored);
    }
    return Object.keys(held).length === 0 ? null : held;
  });
  return columns;
}

/** The objects that have references, or that references name. */
export type ObjectKind = NonNullable<Field['reference']>['to'];

/** A field that refers to users or groups. */
export interface ReferenceField extends Field {
  readonly reference: NonNullable<Field['reference']>;
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
  readonly all: ProjectedColumns;
  /** The properties that each field needs, by field name. A field that is a property needs itself. */
  private readonly needs: Readonly<Record<string, readonly string[]>>;
  /** Selections are cached with their documents, so the same object returns with every request. */
  private readonly known = new WeakMap<SelectedFields, ProjectedColumns>();

  constructor(
    private readonly model: ProjectedModel<Model>,
    readonly fields: readonly Field[],
    table: PropertyTable,
  ) {
    const prefix = table.carriedAs ?? `${table.alias}.`;
    const extra = Object.entries(model.extra ?? {}).map(([name, column]) => [name, `${prefix}${column}`]);
    this.columns = {
      ...propertyColumns(fields, table),
      ...(Object.fromEntries(extra) as Record<string, string>),
    };
    const pictures = pictureFields(fields).map(
      (field) => [field.name, ['key', 'id', `${field.name}Level`]] as const,
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
