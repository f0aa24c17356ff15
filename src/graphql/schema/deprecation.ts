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
} from 'graphql';

/** Minimum number of months for which a deprecated element continues to work (CONTRIBUTING.md). */
export const NOTICE_MONTHS = 6;

export interface Deprecation {
  /** Midnight (UTC) of the day on which the element was deprecated. */
  readonly since: Date;
  /** Midnight (UTC) of the day from which the element may be removed. */
  readonly sunset: Date;
}

const REASON = /^\S.* Deprecated since (\d{4}-\d\d-\d\d), gone from (\d{4}-\d\d-\d\d)\.$/s;

/** Parses the dates of a reason; null if it does not have the form in CONTRIBUTING.md. */
export function parseDeprecation(reason: string): Deprecation | null {
  const [, since = '', sunset = ''] = REASON.exec(reason) ?? [];
  const dates = { since: parseDay(since), sunset: parseDay(sunset) };
  return dates.since === null || dates.sunset === null ? null : { since: dates.since, sunset: dates.sunset };
}

/** The same day some months later, or the days after it if that month is too short. */
export function monthsAfter(day: Date, months: number): Date {
  const later = new Date(day);
  later.setUTCMonth(later.getUTCMonth() + months);
  return later;
}

/** An element of a schema that can be deprecated on its own. */
export interface Declaration {
  /** Its schema coordinate: `Type.field`, `Type.field(argument:)`, `Input.field` or `Enum.VALUE`. */
  readonly coordinate: string;
  readonly deprecationReason?: string | null | undefined;
}

export function declarationsOf(schema: GraphQLSchema): Declaration[] {
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

function fieldsOf(type: GraphQLObjectType | GraphQLInterfaceType): Declaration[] {
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
): Declaration[] {
  return parts.map(({ name, deprecationReason }) => ({
    coordinate: `${typeName}.${name}`,
    deprecationReason,
  }));
}

/** Parses an RFC 3339 full-date; null if there is no such day. */
function parseDay(text: string): Date | null {
  const day = new Date(`${text}T00:00:00Z`);
  return Number.isNaN(day.getTime()) || !day.toISOString().startsWith(text) ? null : day;
}
