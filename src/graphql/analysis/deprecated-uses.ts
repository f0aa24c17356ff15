import {
  type DocumentNode,
  getNamedType,
  type GraphQLSchema,
  isInputObjectType,
  type OperationDefinitionNode,
  separateOperations,
  TypeInfo,
  visit,
  visitWithTypeInfo,
} from 'graphql';
import { declarationsOf, type Deprecation, parseDeprecation } from '../schema/deprecation.js';

/** A deprecated part of the schema that an operation uses, as `extensions.deprecations` tells it. */
export interface DeprecatedUse {
  /** Its schema coordinate. */
  readonly coordinate: string;
  /** What the schema says about it. */
  readonly reason: string;
  /** The day from which it may be gone, as RFC 3339 writes one. */
  readonly sunset: string;
}

/** What an answer says about the deprecated parts of the schema that its operation uses. */
export interface DeprecatedUses {
  readonly uses: readonly DeprecatedUse[];
  /** `deprecation` (RFC 9745) and `sunset` (RFC 8594), each of the use that comes first. */
  readonly headers: Readonly<Record<string, string>>;
}

/** Whether anything of a schema is deprecated: if not, no document has to be looked through. */
const hasAny = new WeakMap<GraphQLSchema, boolean>();

/**
 * What an operation uses that is deprecated: fields, arguments, and input fields and values that stand in the document.
 * Those inside of variables may be others with each request, and are not looked at. Null: nothing, as almost always.
 */
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

/** The reasons of everything deprecated that a document uses, by its coordinate. */
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
        // Of a directive otherwise, and those of the language are not deprecated.
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
      // A date of structured fields (RFC 9651 §3.3.7).
      deprecation: `@${Math.floor(since.getTime() / 1000)}`,
      sunset: first(found.map((use) => use.sunset)).toUTCString(),
    },
  };
}

function datesOf(coordinate: string, reason: string): Deprecation {
  const dates = parseDeprecation(reason);
  // No schema is served with one: finishSchema sees to it.
  if (dates === null) throw new Error(`The deprecation of ${coordinate} has no dates`);
  return dates;
}

function isText(reason: string | null | undefined): reason is string {
  return reason !== undefined && reason !== null;
}
