import { type Change, ChangeType, CriticalityLevel, diff } from '@graphql-inspector/core';
import { MapperKind, mapSchema, pruneSchema } from '@graphql-tools/utils';
import {
  type GraphQLField,
  type GraphQLInputField,
  type GraphQLSchema,
  getDirectiveValues,
  isInputObjectType,
  isInterfaceType,
  isObjectType,
  isRequiredInputField,
} from 'graphql';

/** Changes that make existing documents return other results without being invalid. */
const ALSO_BREAKING = ['FIELD_ARGUMENT_DEFAULT_CHANGED', 'INPUT_FIELD_DEFAULT_VALUE_CHANGED'];

/** Where documents of clients can have a directive. */
const EXECUTABLE = /^(?:QUERY|MUTATION|SUBSCRIPTION|FIELD|FRAGMENT_\w+|INLINE_FRAGMENT|VARIABLE_DEFINITION)$/;

/** Describes the changes that break clients of the released schema. What is deprecated in it may be removed. */
export async function findBreakingChanges(
  released: GraphQLSchema,
  current: GraphQLSchema,
): Promise<string[]> {
  const changes = await diff(withoutDeprecated(released), current);
  const breaking = changes.filter(
    (change) =>
      (change.criticality.level === CriticalityLevel.Breaking ||
        ALSO_BREAKING.includes(String(change.type))) &&
      !isHarmless(change, released),
  );
  return [...breaking.map(({ message }) => message), ...findNarrowedAccess(released, current)];
}

function isHarmless({ type, meta }: Change, released: GraphQLSchema): boolean {
  const values = meta as Readonly<Record<string, unknown>>;
  if (type === ChangeType.DirectiveUsageInputObjectAdded) {
    // Each value that was valid has exactly one member, and remains valid.
    const input = released.getType(String(values['inputObjectName']));
    const [only, second] = isInputObjectType(input) ? Object.values(input.getFields()) : [];
    const hadOne = only !== undefined && second === undefined && isRequiredInputField(only);
    return values['addedDirectiveName'] === 'oneOf' && hadOne;
  }
  if (type !== ChangeType.DirectiveRemoved) return false;
  // No document contains a directive of the schema, such as @visibleTo.
  const { locations = [] } = released.getDirective(String(values['removedDirectiveName'])) ?? {};
  return !locations.some((location) => EXECUTABLE.test(location));
}

type AnyField = GraphQLField<unknown, unknown> | GraphQLInputField;

/** The audiences of fields, each within the one before it. A schema without the directive has fields for everyone. */
const AUDIENCES: readonly unknown[] = [undefined, 'groupAdmins', 'self'];

/** Finds fields, and members of inputs, that need another scope, or that fewer viewers see. */
function findNarrowedAccess(released: GraphQLSchema, current: GraphQLSchema): string[] {
  return Object.keys(current.getTypeMap()).flatMap((type) =>
    Object.entries(fieldsOf(current, type)).flatMap(([name, field]) => {
      const former = fieldsOf(released, type)[name];
      if (former === undefined) return [];
      const [before, after] = [accessOf(released, former), accessOf(current, field)];
      const added = after.scopes.filter((scope) => !before.scopes.includes(scope));
      const isNarrower = AUDIENCES.indexOf(after.audience) > AUDIENCES.indexOf(before.audience);
      const what = `Field '${type}.${name}'`;
      return [
        // A schema without the directive says nothing about scopes.
        ...(added.length === 0 || !released.getDirective('access')
          ? []
          : [`${what} needs the scope ${added.map((scope) => `'${scope}'`).join(' and ')}`]),
        ...(isNarrower ? [`${what} is visible only to '${String(after.audience)}'`] : []),
      ];
    }),
  );
}

function fieldsOf(schema: GraphQLSchema, name: string): Readonly<Record<string, AnyField>> {
  const type = schema.getType(name);
  return isObjectType(type) || isInterfaceType(type) || isInputObjectType(type) ? type.getFields() : {};
}

function accessOf(schema: GraphQLSchema, { astNode }: AnyField) {
  const valuesOf = (name: string) => {
    const directive = schema.getDirective(name);
    return directive && astNode ? getDirectiveValues(directive, astNode) : undefined;
  };
  return {
    scopes: (valuesOf('access')?.['scopes'] ?? []) as string[],
    audience: valuesOf('visibleTo')?.['audience'],
  };
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
