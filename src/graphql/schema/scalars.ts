import { GraphQLScalarType } from 'graphql';
import { GraphQLDateTime, GraphQLURL } from 'graphql-scalars';

/** An instant. Input may have any offset (RFC 3339 §5.6); output is UTC. */
export const DateTime = new GraphQLScalarType({
  ...GraphQLDateTime.toConfig(),
  serialize: (value) => (isStoredInstant(value) ? value : GraphQLDateTime.serialize(value)),
  specifiedByURL: 'https://scalars.graphql.org/andimarek/date-time.html',
  description: 'An instant in UTC with milliseconds, as in RFC 3339: 2026-03-01T08:15:30.000Z.',
});

/** Whether a value has the form in which the mirror stores instants of custom fields, which is that of the output. */
function isStoredInstant(value: unknown): value is string {
  return typeof value === 'string' && value.length === 24 && value.endsWith('Z');
}

/** Only in schemas with a custom field of this type. */
export const Url = new GraphQLScalarType({
  ...GraphQLURL.toConfig(),
  description: 'An absolute URL, as in RFC 3986.',
});
