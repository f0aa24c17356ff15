import {
  GraphQLError,
  type GraphQLSchema,
  NoSchemaIntrospectionCustomRule,
  parse,
  type ParseOptions,
  specifiedRules,
  validate,
  type ValidationRule,
} from 'graphql';
import type { Config } from '../../config/config.js';
import { ConnectionArgumentsRule } from './connection-arguments.js';

/** The rules of documents beside those of the specification. */
export function validationRulesOf({ disclosure }: Pick<Config, 'disclosure'>): ValidationRule[] {
  return [ConnectionArgumentsRule, ...(disclosure.introspection ? [] : [NoSchemaIntrospectionCustomRule])];
}

export function parseOptionsOf({ limits }: Pick<Config, 'limits'>): ParseOptions {
  return { maxLexicalTokens: limits.tokens };
}

/** The messages of the errors of a document, as the endpoint has them. */
export function findDocumentErrors(schema: GraphQLSchema, text: string, config: Config): string[] {
  try {
    const rules = [...specifiedRules, ...validationRulesOf(config)];
    return validate(schema, parse(text, parseOptionsOf(config)), rules).map(({ message }) => message);
  } catch (error) {
    if (error instanceof GraphQLError) return [error.message];
    throw error;
  }
}
