import type { OwnField, ValueType } from './model.schema.js';

export interface FieldPlace {
  readonly kind: 'users' | 'groups';
  readonly name: string;
  readonly field: OwnField;
  readonly path: readonly string[];
}

/** A problem of one key of a field: the end of a sentence whose subject is the field, and the cure. */
interface FieldProblem {
  readonly key: keyof OwnField;
  readonly text: string;
}

const FILTERABLE: readonly string[] = ['String', 'Int', 'Float', 'Boolean', 'DateTime'];
const SEARCHABLE: readonly string[] = ['String', '[String!]!'];
const REFERENCES: readonly string[] = ['User', 'Group'];

/** The type of one value, without the marks of a list. */
export function valueTypeOf({ type }: Pick<OwnField, 'type'>): ValueType {
  return type.replace(/^\[(\w+)!\]!$/, '$1') as ValueType;
}

export function isReference(field: Pick<OwnField, 'type'>): boolean {
  return REFERENCES.includes(valueTypeOf(field));
}

/** Finds keys that do not go with the type of a field, or with each other. */
export function checkField(field: OwnField): FieldProblem[] {
  const { type, filterable, searchable, editable, reverse, access, visibleTo } = field;
  const problems: FieldProblem[] = [];
  const remove = (key: FieldProblem['key']) => `Remove ${key}, or use another type`;
  if (filterable === true && !FILTERABLE.includes(type)) {
    const text = `is of type ${type}, which has no filter: only ${FILTERABLE.join(', ')} have. ${remove('filterable')}`;
    problems.push({ key: 'filterable', text });
  }
  if (searchable === true && !SEARCHABLE.includes(type)) {
    const text = `is of type ${type}, which search does not find: only String and lists of it. ${remove('searchable')}`;
    problems.push({ key: 'searchable', text });
  }
  if (searchable === true && (access !== undefined || (visibleTo ?? 'everyone') !== 'everyone')) {
    const text =
      'is found by search, which would reveal its values to others. Remove searchable, or access and visibleTo';
    problems.push({ key: 'searchable', text });
  }
  if (editable === true && (type.startsWith('[') || isReference(field))) {
    const text = `is of type ${type}, which previews do not change. ${remove('editable')}`;
    problems.push({ key: 'editable', text });
  }
  if (reverse !== undefined && !isReference(field)) {
    const text = `is of type ${type}, which has no other side. Remove reverse, or use the type User or Group`;
    problems.push({ key: 'reverse', text });
  }
  return problems;
}
