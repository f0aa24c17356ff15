import type { OperationDefinitionNode, OperationTypeNode } from 'graphql';
import type { Operation } from './operation.js';

/** Characters of a name that is told: clients choose it, and a longer one is none that people gave. */
const LONGEST_NAME = 40;

/** What an operation is called where it is counted and logged: nothing in it is of what it asks for. */
export interface OperationLabel {
  readonly type: `${OperationTypeNode}`;
  /** What its client calls it; null: not at all, or by a name that is too long to be told. */
  readonly name: string | null;
  /** Its root field, of the schema; `several`, or `schema` where it asks for nothing but that. */
  readonly field: string;
}

/** It lives as long as the operation, or as an answer to it. */
const known = new WeakMap<Operation, OperationLabel>();

export function labelOf(operation: Operation): OperationLabel {
  let label = known.get(operation);
  if (label === undefined) {
    const { operation: type } = operation.definition;
    label = { type, name: nameOf(operation.definition), field: fieldOf(operation) };
    known.set(operation, label);
  }
  return label;
}

function nameOf({ name }: OperationDefinitionNode): string | null {
  const given = name?.value ?? null;
  return given === null || given.length > LONGEST_NAME ? null : given;
}

/** As many as the schema has root fields, and two. */
function fieldOf({ roots }: Operation): string {
  const names = new Set([...roots.values()].map(({ field }) => field.name));
  const [name = 'schema', ...others] = names;
  return others.length > 0 ? 'several' : name;
}
