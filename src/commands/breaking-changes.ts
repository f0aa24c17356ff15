import { MapperKind, mapSchema, pruneSchema } from '@graphql-tools/utils';
import {
  DangerousChangeType,
  findBreakingChanges as findBreaks,
  findDangerousChanges,
  type GraphQLField,
  type GraphQLInputField,
  type GraphQLInputObjectType,
  type GraphQLSchema,
  getDirectiveValues,
  isInputObjectType,
  isInterfaceType,
  isObjectType,
  isRequiredInputField,
} from 'graphql';

/** Where documents of clients can have a directive. */
const EXECUTABLE = /^(?:QUERY|MUTATION|SUBSCRIPTION|FIELD|FRAGMENT_\w+|INLINE_FRAGMENT|VARIABLE_DEFINITION)$/;

/** Describes the changes that break clients of the released schema. What is deprecated in it may be removed. */
export function findBreakingChanges(released: GraphQLSchema, current: GraphQLSchema): string[] {
  const before = withoutDeprecated(released);
  const dangerous = findDangerousChanges(before, current);
  // A field that used the scalar is removed, too, or is deprecated.
  const breaks = findBreaks(before, current).filter(
    ({ description }) => !description.startsWith('Standard scalar'),
  );
  return [...breaks, ...dangerous.filter(({ type }) => type === DangerousChangeType.ARG_DEFAULT_VALUE_CHANGE)]
    .map(({ description }) => description)
    .concat(findNarrowedInputs(before, current), findNarrowedAccess(released, current));
}

/** Finds inputs that become @oneOf, and members with another default, which graphql-js does not compare. */
function findNarrowedInputs(released: GraphQLSchema, current: GraphQLSchema): string[] {
  return Object.values(current.getTypeMap()).flatMap((type) => {
    const former = released.getType(type.name);
    if (!isInputObjectType(type) || !isInputObjectType(former)) return [];
    const members = Object.values(former.getFields());
    const changed = members.filter(({ name, defaultValue }) => {
      const member = type.getFields()[name];
      return member !== undefined && JSON.stringify(member.defaultValue) !== JSON.stringify(defaultValue);
    });
    return [
      ...(type.isOneOf && !former.isOneOf && !hasOneMember(former) ? [`${type.name} became @oneOf.`] : []),
      ...changed.map(({ name }) => `${type.name}.${name} has another default.`),
    ];
  });
}

/** Each value that was valid has exactly one member, and remains valid if the input becomes @oneOf. */
function hasOneMember(input: GraphQLInputObjectType): boolean {
  const [only, second] = Object.values(input.getFields());
  return only !== undefined && second === undefined && isRequiredInputField(only);
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
      const what = `${type}.${name}`;
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

/**
 * Returns the schema without its deprecated elements, without types that only they use, and without directives of the schema such
 * as `@visibleTo`, which no document contains.
 */
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
      [MapperKind.DIRECTIVE]: (directive) =>
        directive.locations.some((location) => EXECUTABLE.test(location)) ? directive : null,
    }),
  );
}
