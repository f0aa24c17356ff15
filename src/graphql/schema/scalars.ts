import { GraphQLScalarType } from 'graphql';
import { GraphQLDateTime, GraphQLURL } from 'graphql-scalars';

/** An instant. Input may have any offset (RFC 3339 §5.6); output is UTC. */
export const DateTime = new GraphQLScalarType({
  ...GraphQLDateTime.toConfig(),
  description: 'An instant in UTC with milliseconds, as in RFC 3339: 2026-03-01T08:15:30.000Z.',
});

/** Part of the API contract, for future fields. */
export const Url = new GraphQLScalarType({
  ...GraphQLURL.toConfig(),
  description: 'An absolute URL, as in RFC 3986.',
});
