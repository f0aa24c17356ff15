import {
  GraphQLBoolean,
  GraphQLFloat,
  GraphQLInputObjectType,
  type GraphQLInputType,
  GraphQLInt,
  GraphQLList,
  GraphQLNonNull,
  type GraphQLScalarType,
  GraphQLString,
} from 'graphql';
import type { FilterType } from '../../database/fields/filters.js';
import { DateTime } from './scalars.js';

const AND = 'All conditions must hold. An object without a value never matches.';

function filterType(
  name: FilterType,
  what: string,
  fields: Readonly<Record<string, readonly [GraphQLInputType, string]>>,
): GraphQLInputObjectType {
  const config = Object.entries(fields).map(([field, [type, description]]) => [field, { type, description }]);
  return new GraphQLInputObjectType({
    name,
    description: `Selects objects by ${what}. ${AND}`,
    fields: Object.fromEntries(config) as Record<string, { type: GraphQLInputType }>,
  });
}

type Scalar = GraphQLScalarType<string> | GraphQLScalarType<number>;

function listOf(type: Scalar): GraphQLInputType {
  return new GraphQLList(new GraphQLNonNull(type));
}

function numberFilter(
  name: 'IntFilter' | 'FloatFilter',
  type: GraphQLScalarType<number>,
): GraphQLInputObjectType {
  return filterType(name, 'a number', {
    is: [type, 'The exact value.'],
    in: [listOf(type), 'One of these values, up to 100.'],
    min: [type, 'The smallest value.'],
    max: [type, 'The greatest value.'],
  });
}

/** The input types of filters by custom fields. A schema has those that its fields use. */
export const VALUE_FILTER_TYPES: readonly GraphQLInputObjectType[] = [
  filterType(
    'StringFilter',
    'a text, compared as the directory compares it: repeated spaces and forms of the same character are ignored, and what the description of the member of the filter says. Only the first 512 characters count',
    {
      is: [GraphQLString, 'The whole text.'],
      in: [listOf(GraphQLString), 'One of these texts, up to 100.'],
      startsWith: [GraphQLString, 'The beginning of the text, up to 128 characters.'],
    },
  ),
  numberFilter('IntFilter', GraphQLInt),
  numberFilter('FloatFilter', GraphQLFloat),
  filterType('BooleanFilter', 'a boolean', { is: [GraphQLBoolean, 'The value.'] }),
  filterType('DateTimeFilter', 'an instant', {
    since: [DateTime, 'The earliest instant.'],
    until: [DateTime, 'The latest instant.'],
  }),
];
