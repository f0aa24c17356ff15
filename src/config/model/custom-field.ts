import { createHash } from 'node:crypto';
import type { FieldDefinition, FieldReader } from '../../common/field.js';
import { type Match, matchOf } from '../../common/match.js';
import { isReference, valueTypeOf } from './check-field.js';
import type { CustomField, ValueType } from './model.schema.js';

const READERS: Readonly<Record<ValueType, FieldReader>> = {
  String: 'text',
  Int: 'integer',
  Float: 'number',
  Boolean: 'boolean',
  DateTime: 'time',
  URL: 'url',
  User: 'reference',
  Group: 'reference',
};

/** Six characters of base64url: 36 bits. */
const DIGEST_LENGTH = 6;

/** Makes the definition of a field of the model, as the tables of built-in fields have them. */
export function definitionOf(kind: 'users' | 'groups', name: string, field: CustomField): FieldDefinition {
  const { type, description, access, visibleTo, personal, attribute, deprecated } = field;
  return {
    name,
    type,
    description,
    attributes: [attribute].flat(),
    reader: readerOf(field),
    column: null,
    deprecationReason: deprecated,
    match: matchIn(field),
    storedAs: storedNameOf(name, type, [attribute].flat()),
    ...(access !== undefined && { scopes: [access] }),
    ...(visibleTo !== undefined && visibleTo !== 'everyone' && { visibleTo }),
    ...(field.filterable === true && { isFilterable: true }),
    ...(field.searchable === true && { isSearchable: true }),
    ...(personal === false && { isPersonal: false }),
    ...(field.editable === true && {
      change: { label: labelOf(name), by: kind === 'users' ? 'administrator' : 'owner', isRemovable: true },
    }),
    ...(isReference(field) && {
      reference: { to: valueTypeOf(field) === 'User' ? 'user' : 'group', reverse: field.reverse ?? null },
    }),
  };
}

/** Paths of URLs are case-sensitive in every attribute. Of several attributes, the first counts. */
export function matchIn({
  match,
  type,
  attribute,
}: Pick<CustomField, 'match' | 'type' | 'attribute'>): Match {
  return match ?? (valueTypeOf({ type }) === 'URL' ? 'caseExact' : matchOf([attribute].flat()[0] ?? ''));
}

/**
 * The name contains the type and a digest of the attributes. A process with another model takes no value for one of its type,
 * and shows none of another attribute, which can have a narrower audience.
 */
function storedNameOf(name: string, type: CustomField['type'], attributes: readonly string[]): string {
  const digest = createHash('sha256').update(attributes.join(' ').toLowerCase()).digest('base64url');
  return `${name}:${type}:${digest.slice(0, DIGEST_LENGTH)}`;
}

/** A value that an index holds is a line: longer texts do not fit into it. */
function readerOf(field: CustomField): FieldReader {
  if (field.type === '[String!]!') return 'lines';
  if (field.type === 'String' && (field.filterable === true || field.searchable === true)) return 'line';
  return READERS[valueTypeOf(field)];
}

/** The words of a name in camel case: employeeNumber is «employee number». */
export function labelOf(name: string): string {
  return name
    .replace(/([a-z0-9])([A-Z])/g, '$1 $2')
    .replaceAll('_', ' ')
    .toLowerCase();
}
