import { type Change, ChangeType, CriticalityLevel, diff } from '@graphql-inspector/core';
import { MapperKind, mapSchema, pruneSchema } from '@graphql-tools/utils';
import {
  getDirectiveValues,
  type GraphQLField,
  type GraphQLSchema,
  isInputObjectType,
  isInterfaceType,
  isObjectType,
  isRequiredInputField,
} from 'graphql';
import { monthsAfter, NOTICE_MONTHS, parseDeprecation } from '../common/deprecation.js';

/** Changes that make existing documents return other results without being invalid. */
const ALSO_BREAKING = ['FIELD_ARGUMENT_DEFAULT_CHANGED', 'INPUT_FIELD_DEFAULT_VALUE_CHANGED'];

/**
 * Returns the changes that break clients of the released schema; empty if there are none. Elements that have been deprecated long
 * enough may be removed.
 */
export async function findBreakingChanges(
  released: GraphQLSchema,
  current: GraphQLSchema,
  today: Date,
): Promise<Change[]> {
  const changes = await diff(withoutWhatMayBeGone(released, today), current);
  const breaking = changes
    .filter(
      ({ type, meta }) =>
        !(
          type === ChangeType.DirectiveUsageInputObjectAdded &&
          isHarmlessOneOf(meta as Record<string, unknown>, released)
        ),
    )
    .filter(
      ({ criticality, type }) =>
        criticality.level === CriticalityLevel.Breaking || ALSO_BREAKING.includes(String(type)),
    );
  return [...breaking, ...findAddedScopes(released, current)];
}

/** Returns a change for each field that needs a scope that it did not need. A schema without the directive says nothing about them. */
function findAddedScopes(released: GraphQLSchema, current: GraphQLSchema): Change[] {
  const directive = released.getDirective('access');
  if (!directive) return [];
  const scopesOf = ({ astNode }: GraphQLField<unknown, unknown>) =>
    (astNode ? (getDirectiveValues(directive, astNode)?.['scopes'] as string[] | undefined) : undefined) ??
    [];
  const fieldsOf = (schema: GraphQLSchema, name: string) => {
    const type = schema.getType(name);
    return isObjectType(type) || isInterfaceType(type) ? type.getFields() : {};
  };
  return Object.keys(current.getTypeMap()).flatMap((type) => {
    const before = fieldsOf(released, type);
    return Object.entries(fieldsOf(current, type)).flatMap(([name, field]): Change[] => {
      const former = before[name];
      const known = former === undefined ? null : scopesOf(former);
      const added = known === null ? [] : scopesOf(field).filter((scope) => !known.includes(scope));
      if (added.length === 0) return [];
      const path = `${type}.${name}`;
      const message = `Field '${path}' needs the scope ${added.map((scope) => `'${scope}'`).join(' and ')}`;
      const criticality = { level: CriticalityLevel.Breaking };
      return [{ type: ChangeType.DirectiveUsageFieldDefinitionAdded, path, message, criticality, meta: {} }];
    });
  });
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

/** Returns the schema without the elements that may be removed, and without types that only they use. */
function withoutWhatMayBeGone(released: GraphQLSchema, today: Date): GraphQLSchema {
  const keep = ({ deprecationReason }: { deprecationReason?: string | null | undefined }) =>
    mayBeGone(deprecationReason ?? '', today) ? null : undefined;
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

function mayBeGone(reason: string, today: Date): boolean {
  const deprecation = parseDeprecation(reason);
  if (deprecation === null) return false;
  const { since, sunset } = deprecation;
  return sunset <= today && monthsAfter(since, NOTICE_MONTHS) <= today;
}
