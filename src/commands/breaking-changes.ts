import { type Change, ChangeType, CriticalityLevel, diff } from '@graphql-inspector/core';
import { MapperKind, mapSchema, pruneSchema } from '@graphql-tools/utils';
import {
  DirectiveLocation,
  getDirectiveValues,
  type GraphQLField,
  type GraphQLInputField,
  type GraphQLSchema,
  isInputObjectType,
  isInterfaceType,
  isObjectType,
  isRequiredInputField,
} from 'graphql';

/** Changes that make existing documents return other results without being invalid. */
const ALSO_BREAKING = ['FIELD_ARGUMENT_DEFAULT_CHANGED', 'INPUT_FIELD_DEFAULT_VALUE_CHANGED'];

/**
 * Returns the changes that break clients of the released schema; empty if there are none. What is deprecated in it may be removed.
 */
export async function findBreakingChanges(
  released: GraphQLSchema,
  current: GraphQLSchema,
): Promise<Change[]> {
  const changes = await diff(withoutDeprecated(released), current);
  const breaking = changes
    .filter((change) => !isHarmless(change, released))
    .filter(
      ({ criticality, type }) =>
        criticality.level === CriticalityLevel.Breaking || ALSO_BREAKING.includes(String(type)),
    );
  return [...breaking, ...findNarrowedAccess(released, current)];
}

function isHarmless({ type, meta }: Change, released: GraphQLSchema): boolean {
  const values = meta as Readonly<Record<string, unknown>>;
  if (type === ChangeType.DirectiveUsageInputObjectAdded) return isHarmlessOneOf(values, released);
  if (type !== ChangeType.DirectiveRemoved) return false;
  // No document contains a directive of the schema, such as @visibleTo.
  const { locations = [] } = released.getDirective(String(values['removedDirectiveName'])) ?? {};
  return !locations.some((location) => EXECUTABLE.has(location));
}

/** Where documents of clients can have a directive. */
const EXECUTABLE: ReadonlySet<DirectiveLocation> = new Set([
  DirectiveLocation.QUERY,
  DirectiveLocation.MUTATION,
  DirectiveLocation.SUBSCRIPTION,
  DirectiveLocation.FIELD,
  DirectiveLocation.FRAGMENT_DEFINITION,
  DirectiveLocation.FRAGMENT_SPREAD,
  DirectiveLocation.INLINE_FRAGMENT,
  DirectiveLocation.VARIABLE_DEFINITION,
]);

type AnyField = GraphQLField<unknown, unknown> | GraphQLInputField;

/** Returns a change for each field, and each member of an input, that needs another scope, or that fewer viewers see. */
function findNarrowedAccess(released: GraphQLSchema, current: GraphQLSchema): Change[] {
  const fieldsOf = (schema: GraphQLSchema, name: string): Readonly<Record<string, AnyField>> => {
    const type = schema.getType(name);
    return isObjectType(type) || isInterfaceType(type) || isInputObjectType(type) ? type.getFields() : {};
  };
  return Object.keys(current.getTypeMap()).flatMap((type) => {
    const before = fieldsOf(released, type);
    return Object.entries(fieldsOf(current, type)).flatMap(([name, field]): Change[] => {
      const former = before[name];
      if (former === undefined) return [];
      const path = `${type}.${name}`;
      const added = addedScopes([released, former], [current, field]).map((scope) => `'${scope}'`);
      const audience = narrowedAudience([released, former], [current, field]);
      return [
        ...(added.length === 0 ? [] : [narrowing(path, `needs the scope ${added.join(' and ')}`)]),
        ...(audience === null ? [] : [narrowing(path, `is visible only to '${audience}'`)]),
      ];
    });
  });
}

function narrowing(path: string, text: string): Change {
  const criticality = { level: CriticalityLevel.Breaking };
  const type = ChangeType.DirectiveUsageFieldDefinitionAdded;
  return { type, path, message: `Field '${path}' ${text}`, criticality, meta: {} };
}

/** A field, and the schema that defines its directives. */
type Placed = readonly [schema: GraphQLSchema, field: AnyField];

function argumentsOf([schema, { astNode }]: Placed, name: string): Record<string, unknown> | undefined {
  const directive = schema.getDirective(name);
  return directive && astNode ? getDirectiveValues(directive, astNode) : undefined;
}

/** A schema without the directive says nothing about scopes. */
function addedScopes(before: Placed, after: Placed): string[] {
  if (!before[0].getDirective('access')) return [];
  const scopesOf = (place: Placed) => (argumentsOf(place, 'access')?.['scopes'] ?? []) as string[];
  const known = scopesOf(before);
  return scopesOf(after).filter((scope) => !known.includes(scope));
}

/** The audiences of fields, each within the one before it. A schema without the directive has fields for everyone. */
const AUDIENCES: readonly unknown[] = [undefined, 'groupAdmins', 'self'];

/** Null if no one stops seeing the field. */
function narrowedAudience(before: Placed, after: Placed): string | null {
  const audienceOf = (place: Placed) => argumentsOf(place, 'visibleTo')?.['audience'];
  const audience = audienceOf(after);
  return AUDIENCES.indexOf(audience) > AUDIENCES.indexOf(audienceOf(before)) ? String(audience) : null;
}

/**
 * Whether an input becomes @oneOf whose only member was required: each value that was valid has exactly one member, and
 * remains valid.
 */
function isHarmlessOneOf(
  { addedDirectiveName, inputObjectName }: Readonly<Record<string, unknown>>,
  released: GraphQLSchema,
): boolean {
  const type = released.getType(String(inputObjectName));
  const members = isInputObjectType(type) ? Object.values(type.getFields()) : [];
  const [only] = members;
  return (
    addedDirectiveName === 'oneOf' && members.length === 1 && only !== undefined && isRequiredInputField(only)
  );
}

/** Returns the schema without its deprecated elements, and without types that only they use. */
function withoutDeprecated(released: GraphQLSchema): GraphQLSchema {
  const keep = ({ deprecationReason }: { deprecationReason?: string | null | undefined }) =>
    typeof deprecationReason === 'string' ? null : undefined;
  return pruneSchema(
    mapSchema(released, {
      [MapperKind.OBJECT_FIELD]: keep,
      [MapperKind.INTERFACE_FIELD]: keep,
      [MapperKind.INPUT_OBJECT_FIELD]: keep,
      [MapperKind.ARGUMENT]: keep,
      [MapperKind.ENUM_VALUE]: keep,
    }),
  );
}
