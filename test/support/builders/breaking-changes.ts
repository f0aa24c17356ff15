import { CriticalityLevel, diff } from '@graphql-inspector/core';
import { MapperKind, mapSchema, pruneSchema } from '@graphql-tools/utils';
import type { GraphQLSchema } from 'graphql';
import { monthsAfter, NOTICE_MONTHS, parseDeprecation } from '../../../src/graphql/schema/deprecation.js';

/** What answers a document in another way than before, although it does not refuse it. */
const ALSO_BREAKING = ['FIELD_ARGUMENT_DEFAULT_CHANGED', 'INPUT_FIELD_DEFAULT_VALUE_CHANGED'];

/**
 * What of a schema breaks clients of the released one, in words; empty: nothing. What was deprecated long enough ago may
 * be gone.
 */
export async function findBreaks(
  released: GraphQLSchema,
  current: GraphQLSchema,
  today: Date,
): Promise<string[]> {
  const changes = await diff(withoutWhatMayBeGone(released, today), current);
  return changes
    .filter(
      ({ criticality, type }) =>
        criticality.level === CriticalityLevel.Breaking || ALSO_BREAKING.includes(String(type)),
    )
    .map(({ message }) => message);
}

/** What breaks and what to do about it; empty when nothing does. */
export function explainBreaks(breaks: readonly string[], version: string): string {
  if (breaks.length === 0) return '';
  return [
    `This schema breaks clients of ${version} (released/schema.graphql):`,
    ...breaks.map((each) => `  ${each}`),
    'Leave what there is as it is, and add beside it what is to take its place. What is to go is deprecated first,',
    `for ${NOTICE_MONTHS} months at least: CONTRIBUTING.md says how.`,
  ].join('\n');
}

/** The schema as clients may still rely on it, without the types that only led to what they may not. */
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
