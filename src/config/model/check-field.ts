import { type Match, MATCHES } from '../../common/match.js';
import { isCredential } from './credentials.js';
import type { CustomField, ValueType } from './model.schema.js';

export interface FieldPlace {
  readonly kind: 'users' | 'groups';
  readonly name: string;
  readonly field: CustomField;
  readonly path: readonly string[];
}

/** A problem of one key of a field: the end of a sentence whose subject is the field, and the cure. */
interface FieldProblem {
  readonly key: keyof CustomField;
  readonly text: string;
}

/** The types that have a filter, and that previews change. */
const SINGLE: readonly string[] = ['String', 'Int', 'Float', 'Boolean', 'DateTime', 'URL'];
const SEARCHABLE: readonly string[] = ['String', '[String!]!'];
const REFERENCES: readonly string[] = ['User', 'Group'];
/** How the values of a type can be compared. Values of all other types have one way. */
const COMPARED: Readonly<Partial<Record<ValueType, readonly Match[]>>> = {
  String: MATCHES,
  URL: ['caseIgnore', 'caseExact'],
  Int: ['integer'],
};

/** The type of one value, without the marks of a list. */
export function valueTypeOf({ type }: Pick<CustomField, 'type'>): ValueType {
  return type.replace(/^\[(\w+)!\]!$/, '$1') as ValueType;
}

export function isReference(field: Pick<CustomField, 'type'>): boolean {
  return REFERENCES.includes(valueTypeOf(field));
}

/** Whether a key does not go with the rest of a field, and the problem. */
interface Rule {
  readonly key: keyof CustomField;
  readonly isBroken: (field: CustomField) => boolean;
  readonly text: (type: string, field: CustomField) => string;
}

const RULES: readonly Rule[] = [
  {
    key: 'attribute',
    isBroken: ({ attribute }) => [attribute].flat().some(isCredential),
    text: () => 'is read from an attribute that holds credentials. Remove the field',
  },
  {
    key: 'filterable',
    isBroken: ({ filterable, type }) => filterable === true && !SINGLE.includes(type),
    text: (type) =>
      `is of type ${type}, which has no filter: only ${SINGLE.join(', ')} have. Remove filterable, or use another type`,
  },
  {
    key: 'match',
    isBroken: (field) =>
      field.match !== undefined && COMPARED[valueTypeOf(field)]?.includes(field.match) !== true,
    text: (type, { match }) =>
      `is of type ${type}, whose values are not compared by ${String(match)}. Remove match, or use another type`,
  },
  {
    key: 'searchable',
    isBroken: ({ searchable, type }) => searchable === true && !SEARCHABLE.includes(type),
    text: (type) =>
      `is of type ${type}, which search does not find: only ${SEARCHABLE.join(', ')}. Remove searchable, or use another type`,
  },
  {
    key: 'searchable',
    isBroken: ({ searchable, access, visibleTo = 'everyone' }) =>
      searchable === true && (access !== undefined || visibleTo !== 'everyone'),
    text: () =>
      'is found by search, which would reveal its values to others. Remove searchable, or access and visibleTo',
  },
  {
    key: 'editable',
    isBroken: ({ editable, type }) => editable === true && !SINGLE.includes(type),
    text: (type) => `is of type ${type}, which previews do not change. Remove editable, or use another type`,
  },
  {
    key: 'editable',
    isBroken: ({ editable, visibleTo = 'everyone' }) => editable === true && visibleTo !== 'everyone',
    text: (_type, { access }) =>
      `has a preview that would show its value to those who do not see it, because the record of a change has the old value. Remove editable or visibleTo${access === undefined ? ', or protect the field with access instead of visibleTo' : ''}`,
  },
  {
    key: 'reverse',
    isBroken: (field) => field.reverse !== undefined && !isReference(field),
    text: (type) =>
      `is of type ${type}, which has no other side. Remove reverse, or use the type User or Group`,
  },
];

/** Finds keys that do not go with the type of a field, or with each other. */
export function checkField(field: CustomField): FieldProblem[] {
  return RULES.filter(({ isBroken }) => isBroken(field)).map(({ key, text }) => ({
    key,
    text: text(field.type, field),
  }));
}
