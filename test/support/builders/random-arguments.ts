import fc from 'fast-check';
import {
  type GraphQLArgument,
  type GraphQLField,
  type GraphQLInputObjectType,
  type GraphQLInputType,
  isEnumType,
  isInputObjectType,
  isListType,
  isNonNullType,
  isRequiredInputField,
} from 'graphql';
import { isConnection } from '../../../src/graphql/analysis/operation-cost.js';

/** Existing ids and other values that types do not describe. */
export interface Known {
  readonly users: readonly string[];
  readonly groups: readonly string[];
  readonly cursors: readonly string[];
  readonly nodeIds: readonly string[];
}

/**
 * How a value is passed: as a literal, as a variable, as the default of a variable, as a default that null overrides, as an
 * omitted variable, or as an object that contains such variables.
 */
export type Spelling = 'literal' | 'variable' | 'default' | 'nulled' | 'left out' | 'inside';

export interface DrawnArgument {
  readonly name: string;
  readonly type: GraphQLInputType;
  readonly value: unknown;
  readonly spelling: Spelling;
}

export const SPELLINGS: Spelling[] = [
  'literal',
  'literal',
  'variable',
  'default',
  'inside',
  'inside',
  'nulled',
  'left out',
];
/** Marks an omitted argument or input field. */
const ABSENT = Symbol('ABSENT');
const FORGED = ['', 'forged', 'eyJ2IjoxfQ', 'AAAA', '🎓'];
const DATES = ['2020-01-01T00:00:00Z', '2999-12-31T23:59:59.999+02:00'];

/** Arguments of a field: most are valid, and some cause an error. */
export function argumentsFor(
  field: GraphQLField<unknown, unknown>,
  known: Known,
): fc.Arbitrary<DrawnArgument[]> {
  const isPage = isConnection(field);
  const others = field.args
    .filter(({ name }) => !isPage || (name !== 'first' && name !== 'last'))
    .map((argument) => argumentFor(argument, known));
  const all: fc.Arbitrary<DrawnArgument | typeof ABSENT>[] = isPage
    ? [sizeFor(field.args), ...others]
    : others;
  return fc.tuple(...all).map((drawn) => drawn.filter((each) => each !== ABSENT));
}

/** The literal of a value, which differs from JSON in enum values and field names. */
export function literalOf(value: unknown, type: GraphQLInputType): string {
  if (isNonNullType(type)) return literalOf(value, type.ofType);
  if (value === null) return 'null';
  if (isListType(type) && Array.isArray(value)) {
    return `[${value.map((each) => literalOf(each, type.ofType)).join(', ')}]`;
  }
  if (isEnumType(type)) return value as string;
  if (!isInputObjectType(type)) return JSON.stringify(value);
  return objectLiteral(type, value as Record<string, unknown>, literalOf);
}

/** @param print writes a member */
export function objectLiteral(
  type: GraphQLInputObjectType,
  value: Record<string, unknown>,
  print: (value: unknown, type: GraphQLInputType) => string,
): string {
  const members = Object.values(type.getFields())
    .filter(({ name }) => name in value)
    .map((member) => `${member.name}: ${print(value[member.name], member.type)}`);
  return `{${members.join(', ')}}`;
}

/** Exactly one member, as @oneOf requires. */
function sizeFor(given: readonly GraphQLArgument[]): fc.Arbitrary<DrawnArgument> {
  const [first, last] = ['first', 'last'].map((name) => given.find((each) => each.name === name));
  if (first === undefined || last === undefined) throw new Error('This is no connection');
  return fc.record({
    name: fc.constantFrom('first', 'last'),
    type: fc.constant(first.type),
    value: often(fc.constantFrom(3, 2, 1, 0), fc.constant(100), 12),
    spelling: fc.constantFrom<Spelling>('literal', 'literal', 'variable', 'default'),
  });
}

function argumentFor(
  { name, type }: GraphQLArgument,
  known: Known,
): fc.Arbitrary<DrawnArgument | typeof ABSENT> {
  const drawn = fc.record({
    name: fc.constant(name),
    type: fc.constant(type),
    value: valueFor(type, name, known),
    spelling: fc.constantFrom(...SPELLINGS),
  });
  const isCursor = name === 'after' || name === 'before';
  // Most cursors are of another connection, and therefore invalid.
  return isNonNullType(type) ? drawn : often(fc.constant<typeof ABSENT>(ABSENT), drawn, isCursor ? 12 : 3);
}

/** @param name name of the argument or input field */
function valueFor(type: GraphQLInputType, name: string, known: Known): fc.Arbitrary<unknown> {
  if (isNonNullType(type)) return valueFor(type.ofType, name, known);
  if (isListType(type)) return fc.array(valueFor(type.ofType, name, known), { maxLength: 2 });
  if (isEnumType(type)) return fc.constantFrom(...type.getValues().map((value) => value.name));
  if (isInputObjectType(type)) return objectFor(type, name, known);
  if (type.name === 'Int') return often(fc.constantFrom(64, 128, 256, 512), fc.constantFrom(0, 65, -1), 8);
  if (type.name === 'Boolean') return often(fc.constant(false), fc.constant(true), 4);
  if (type.name === 'DateTime') return fc.constantFrom(...DATES);
  if (name === 'after' || name === 'before') {
    return often(fc.constantFrom(...known.cursors), fc.constantFrom(...FORGED), 2);
  }
  if (name === 'nodeId' || name === 'nodeIds') return fc.constantFrom(...known.nodeIds, ...FORGED);
  return fc.constantFrom('a', 'berg', 'p1', '1A', '', 'Ünï', '"\\');
}

function objectFor(type: GraphQLInputObjectType, name: string, known: Known): fc.Arbitrary<unknown> {
  if (type.name === 'UserInput') return identifiedBy(known.users, known);
  if (type.name === 'GroupInput') return identifiedBy(known.groups, known);
  const members = Object.values(type.getFields()).map((member) => {
    const value = valueFor(member.type, `${name}.${member.name}`, known);
    const drawn = isRequiredInputField(member) ? value : often(fc.constant<unknown>(ABSENT), value, 2);
    return drawn.map((each) => [member.name, each] as const);
  });
  return fc
    .tuple(...members)
    .map((drawn): unknown => Object.fromEntries(drawn.filter(([, value]) => value !== ABSENT)));
}

function identifiedBy(ids: readonly string[], { nodeIds }: Known): fc.Arbitrary<unknown> {
  const unknown = fc.constantFrom('nobody', '', 'constructor', '\u0000', 'P1');
  const byId = often(fc.constantFrom(...ids), unknown, 16).map((id) => ({ id }));
  return often(
    byId,
    fc.constantFrom(...nodeIds).map((nodeId) => ({ nodeId })),
    4,
  );
}

/** Returns one of two values, the second on average once in `times` calls. */
export function often<Usual, Seldom>(
  usual: fc.Arbitrary<Usual>,
  seldom: fc.Arbitrary<Seldom>,
  times: number,
): fc.Arbitrary<Usual | Seldom> {
  return fc.oneof({ weight: times, arbitrary: usual }, { weight: 1, arbitrary: seldom });
}
