import type { Match } from './match.js';

/**
 * How a value of an LDAP attribute becomes the value of a field, or one of them if its type is a list. A value with
 * more characters than the maximum in parentheses, or in another form, goes into quarantine.
 */
export type FieldReader =
  | 'identity' // by EntryReader.identity; an entry without an id or a name is left out, `createdAt` may be null
  | 'none' // the mirror sets the field itself
  | 'activity' // whether the filter of entries that are not active does not match
  | 'line' // (512) a text of any form, as the next two
  | 'label' // (64)
  | 'text' // (10,000)
  | 'website' // (10,000) an http or https URL
  | 'url' // (10,000) an absolute URL that runs no program
  | 'time' // Generalized Time, or the count of Active Directory
  | 'boolean' // TRUE or FALSE
  | 'integer' // of 32 bits
  | 'number' // finite
  | 'picture' // the digest of the bytes
  | 'reference'; // users or groups that the values name

/** Who sees the value of a field, besides principals with the scope that sees everything. */
export type FieldAudience = 'groupAdmins' | 'self';

/** Definition of one mirrored field of users or groups, from which all other code derives the field. */
export interface FieldDefinition {
  /** Name of the GraphQL field and of the property of the model. */
  readonly name: string;
  /** GraphQL type in SDL. */
  readonly type: string;
  readonly description: string;
  /** Scopes that a token needs for the field. Default: the scopes of the object. */
  readonly scopes?: readonly string[];
  /** The LDAP attributes. The first one that has a value is used. A preset or the model file may name others. */
  readonly attributes: readonly string[];
  readonly reader: FieldReader;
  /** Column of the table. Null: a member of the JSONB column `field_values`, where lists always are. */
  readonly column: string | null;
  /** Name of the value in JSONB, of a field whose type or attributes can change. Default: that of the field. */
  readonly storedAs?: string;
  /** Whether memberships have a copy of the column, to be read from one table (docs/adr/0007). */
  readonly isCarried?: true;
  readonly isSearchable?: true;
  /** Description of the filter by a value, which has the name of the field. It compares `<column>_compared`. Default: there is none. */
  readonly filter?: string;
  /** How texts are compared in filters and orders. Default: caseIgnore. */
  readonly match?: Match;
  /** How a preview may change the field. */
  readonly change?: {
    /** Label of the field in descriptions of inputs, such as `given name`. */
    readonly label: string;
    readonly by: 'self' | 'administrator' | 'owner';
    readonly isRemovable: boolean;
    /** Format of a new value. Default: the values that the reader accepts. */
    readonly format?: 'address';
  };
  /** Default: all principals that may read the object. For others the value is null, without an error. */
  readonly visibleTo?: FieldAudience;
  /** Whether lists have a filter with comparisons of the type of the field, such as IntFilter. */
  readonly isFilterable?: true;
  /** Whether the access log counts the field. Default: as other fields of the object. */
  readonly isPersonal?: false;
  /** Why clients must stop using the field, as a sentence. */
  readonly deprecationReason?: string | undefined;
  /** For the reader `reference`: what the values, which are DNs, refer to, and the connection of the other side. */
  readonly reference?: { readonly to: 'user' | 'group'; readonly reverse: string | null };
}

/** A field with its LDAP attributes. */
export interface Field extends FieldDefinition {
  /** The first of the attributes, which a preview writes. Empty: the field has no attribute. */
  readonly attribute: string;
}

/** Whether the value of a field comes from an attribute of its own. */
export const isMapped = ({ reader }: Pick<FieldDefinition, 'reader'>) =>
  reader !== 'identity' && reader !== 'none' && reader !== 'activity';

/** The fields that are properties of the model, which has a boolean for a picture. A reference is read separately. */
export const propertyFields = (fields: readonly Field[]) =>
  fields.filter(({ reader }) => reader !== 'picture' && reader !== 'reference');

export const pictureFields = (fields: readonly Field[]) =>
  fields.filter(({ reader }) => reader === 'picture');

/** Maximum number of references of one value of a list: each is an object in a response. Further ones are omitted. */
export const MOST_REFERENCES = 100;

/** Whether the field has all values of its attribute, or the first one. */
export const isList = ({ type }: Pick<Field, 'type'>) => type.startsWith('[');

/** Name of the value of a field in a mapped entry and in JSONB. */
export function storedName({ name, storedAs = name }: Pick<FieldDefinition, 'name' | 'storedAs'>): string {
  return storedAs;
}
