import {
  type GraphQLEnumType,
  type GraphQLInputObjectType,
  type GraphQLInterfaceType,
  type GraphQLObjectType,
  type GraphQLSchema,
  isEnumType,
  isInputObjectType,
  isInterfaceType,
  isIntrospectionType,
  isObjectType,
  type DocumentNode,
  getNamedType,
  type OperationDefinitionNode,
  separateOperations,
  TypeInfo,
  visit,
  visitWithTypeInfo,
} from 'graphql';
import { type Deprecation, monthsAfter, NOTICE_MONTHS, parseDeprecation } from '../../common/deprecation.js';

/** An element of a schema that can be deprecated on its own. */
interface SchemaElement {
  /** Its schema coordinate: `Type.field`, `Type.field(argument:)`, `Input.field` or `Enum.VALUE`. */
  readonly coordinate: string;
  readonly deprecationReason?: string | null | undefined;
}

export function declarationsOf(schema: GraphQLSchema): SchemaElement[] {
  return Object.values(schema.getTypeMap()).flatMap((type) => {
    if (isIntrospectionType(type)) return [];
    if (isObjectType(type) || isInterfaceType(type)) return fieldsOf(type);
    if (isInputObjectType(type)) return partsOf(type, Object.values(type.getFields()));
    return isEnumType(type) ? partsOf(type, type.getValues()) : [];
  });
}

/** The problems of deprecations: each must state its dates, and the notice must be long enough. */
export function findDeprecationProblems(schema: GraphQLSchema): string[] {
  return declarationsOf(schema).flatMap(({ coordinate, deprecationReason: reason }) => {
    if (reason === undefined || reason === null) return [];
    const deprecation = parseDeprecation(reason);
    if (deprecation === null) {
      const form = '«Use …. Deprecated since 2026-01-31, gone from 2026-08-01.»';
      return [`${coordinate} is deprecated, and its reason does not end with the dates, as in ${form}`];
    }
    return deprecation.sunset < monthsAfter(deprecation.since, NOTICE_MONTHS)
      ? [`${coordinate} is to be gone less than ${NOTICE_MONTHS} months after it was deprecated`]
      : [];
  });
}

function fieldsOf(type: GraphQLObjectType | GraphQLInterfaceType): SchemaElement[] {
  return Object.values(type.getFields()).flatMap((field) => {
    const coordinate = `${type.name}.${field.name}`;
    const given = field.args.map(({ name, deprecationReason }) => ({
      coordinate: `${coordinate}(${name}:)`,
      deprecationReason,
    }));
    return [{ coordinate, deprecationReason: field.deprecationReason }, ...given];
  });
}

function partsOf(
  { name: typeName }: GraphQLInputObjectType | GraphQLEnumType,
  parts: readonly { name: string; deprecationReason?: string | null | undefined }[],
): SchemaElement[] {
  return parts.map(({ name, deprecationReason }) => ({
    coordinate: `${typeName}.${name}`,
    deprecationReason,
  }));
}

/** A deprecated element of the schema that an operation uses, as in `extensions.deprecations`. */
interface DeprecatedUse {
  readonly coordinate: string;
  readonly reason: string;
  /** The day from which the element may be removed, as an RFC 3339 full-date. */
  readonly sunset: string;
}

/** The deprecated elements that an operation uses, and the response headers for them. */
export interface DeprecatedUses {
  readonly uses: readonly DeprecatedUse[];
  /** `deprecation` (RFC 9745) and `sunset` (RFC 8594), each with the earliest date of all uses. */
  readonly headers: Readonly<Record<string, string>>;
}

/** Whether a schema has deprecated elements. If it has none, documents are not searched. */
const hasAny = new WeakMap<GraphQLSchema, boolean>();

/** Finds the deprecated elements in the document of an operation, but not inside variables. Null: none. */
export function findDeprecatedUses(
  schema: GraphQLSchema,
  document: DocumentNode,
  definition: OperationDefinitionNode,
): DeprecatedUses | null {
  let any = hasAny.get(schema);
  if (any === undefined) {
    any = declarationsOf(schema).some(({ deprecationReason }) => isText(deprecationReason));
    hasAny.set(schema, any);
  }
  if (!any) return null;
  const separate = separateOperations(document)[definition.name?.value ?? ''] ?? document;
  const reasons = reasonsIn(schema, separate);
  return reasons.size === 0 ? null : describeUses(reasons);
}

function reasonsIn(schema: GraphQLSchema, document: DocumentNode): Map<string, string> {
  const reasons = new Map<string, string>();
  const note = (coordinate: string, reason: string | null | undefined) => {
    if (isText(reason)) reasons.set(coordinate, reason);
  };
  const here = new TypeInfo(schema);
  const fieldName = () => `${here.getParentType()?.name ?? ''}.${here.getFieldDef()?.name ?? ''}`;
  visit(
    document,
    visitWithTypeInfo(here, {
      Field: () => {
        note(fieldName(), here.getFieldDef()?.deprecationReason);
      },
      Argument: ({ name }) => {
        // Arguments of directives are skipped: those of the specified directives are not deprecated.
        if (here.getDirective() === null)
          note(`${fieldName()}(${name.value}:)`, here.getArgument()?.deprecationReason);
      },
      ObjectField: ({ name }) => {
        const type = here.getParentInputType();
        if (isInputObjectType(type))
          note(`${type.name}.${name.value}`, type.getFields()[name.value]?.deprecationReason);
      },
      EnumValue: ({ value }) => {
        const type = getNamedType(here.getInputType());
        note(`${type?.name ?? ''}.${value}`, here.getEnumValue()?.deprecationReason);
      },
    }),
  );
  return reasons;
}

function describeUses(reasons: ReadonlyMap<string, string>): DeprecatedUses {
  const found = [...reasons].map(([coordinate, reason]) => ({
    coordinate,
    reason,
    ...datesOf(coordinate, reason),
  }));
  const first = (dates: Date[]) => new Date(Math.min(...dates.map(Number)));
  const since = first(found.map((use) => use.since));
  return {
    uses: found.map(({ coordinate, reason, sunset }) => ({
      coordinate,
      reason,
      sunset: sunset.toISOString().slice(0, 10),
    })),
    headers: {
      // A Date of Structured Fields (RFC 9651 §3.3.7).
      deprecation: `@${Math.floor(since.getTime() / 1000)}`,
      sunset: first(found.map((use) => use.sunset)).toUTCString(),
    },
  };
}

function datesOf(coordinate: string, reason: string): Deprecation {
  const dates = parseDeprecation(reason);
  // finishSchema rejects a schema with such a reason.
  if (dates === null) throw new Error(`The deprecation of ${coordinate} has no dates`);
  return dates;
}

function isText(reason: string | null | undefined): reason is string {
  return reason !== undefined && reason !== null;
}
