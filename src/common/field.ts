/**
 * How the values of an LDAP attribute become the value of a field. `identity`: read for every entry, which is left out
 * without it. `none`: the mirror sets the field itself. `lines`: all values. `picture`: the digest of the bytes.
 */
export type FieldReader =
  | 'identity'
  | 'none'
  | 'line'
  | 'label'
  | 'text'
  | 'website'
  | 'time'
  | 'boolean'
  | 'dn'
  | 'lines'
  | 'picture';

/** How a preview may change a field. */
export interface FieldChange {
  /** What descriptions of inputs call the field, such as `given name`. */
  readonly label: string;
  readonly by: 'self' | 'administrator' | 'owner';
  readonly isRemovable: boolean;
  /** What a new value must be; default: what the reader accepts. */
  readonly format?: 'address';
}

/** One mirrored field of users or groups: everything that the service knows about it. */
export interface FieldDefinition {
  /** Name of the GraphQL field and of the property of the model. */
  readonly name: string;
  /** GraphQL type in SDL. */
  readonly type: string;
  readonly description: string;
  /** Scopes that a token needs for the field; default: those of the object. */
  readonly scopes?: readonly string[];
  /** The LDAP attributes, unless a setting names others; the first that has a value counts. */
  readonly attributes: readonly string[];
  readonly reader: FieldReader;
  /** Column of the table; null: a member of the JSONB column `field_values`. `lines` are always in JSONB. */
  readonly column: string | null;
  /** Whether memberships have a copy of the column, so that a page of them reads one table (docs/adr/0007). */
  readonly isCarried?: true;
  readonly isSearchable?: true;
  /** Description of the filter by exact value; default: there is no filter. */
  readonly filter?: string;
  readonly change?: FieldChange;
}

/** A field with the attributes that the settings name. */
export interface Field extends FieldDefinition {
  /** The first of the attributes, which a preview writes; empty: the field has none. */
  readonly attribute: string;
}

/** @param named attributes that the settings name, by field */
export function resolveFields(
  definitions: readonly FieldDefinition[],
  named: Readonly<Record<string, readonly string[]>>,
): readonly Field[] {
  return definitions.map((definition) => {
    const attributes = named[definition.name] ?? definition.attributes;
    return { ...definition, attributes, attribute: attributes[0] ?? '' };
  });
}

/** The fields whose values are read from an entry one by one. */
export function mappedFields(fields: readonly Field[]): Field[] {
  return fields.filter(({ reader }) => reader !== 'identity' && reader !== 'none');
}

/** The fields that are properties of the model; the model has only the presence of a picture. */
export function propertyFields(fields: readonly Field[]): Field[] {
  return fields.filter(({ reader }) => reader !== 'picture');
}

export function pictureFields(fields: readonly Field[]): Field[] {
  return fields.filter(({ reader }) => reader === 'picture');
}

/** Property of the model that tells whether there is a picture, such as `hasPhoto`. */
export function presenceOf({ name }: Pick<Field, 'name'>): string {
  return `has${name.charAt(0).toUpperCase()}${name.slice(1)}`;
}

export function isInstant({ type }: Pick<Field, 'type'>): boolean {
  return type.startsWith('DateTime');
}
