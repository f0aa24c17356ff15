import { type Field, isInstant, levelOf, pictureFields } from '../../common/field.js';
import type { SelectedFields } from '../../common/page.js';
import { propertyColumns, type PropertyTable, sqlTypeOf } from './field-columns.js';

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
