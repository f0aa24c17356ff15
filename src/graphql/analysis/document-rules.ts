import {
  type ASTVisitor,
  GraphQLError,
  type GraphQLSchema,
  NoSchemaIntrospectionCustomRule,
  parse,
  type ParseOptions,
  specifiedRules,
  validate,
  type ValidationContext,
  type ValidationRule,
} from 'graphql';
import { ServiceError } from '../../common/errors.js';
import type { Config } from '../../config/config.js';

/** Maximum length of a name that a client chooses: aliases are repeated in each object of a response, and in each path. */
const LONGEST_NAME = 256;

/** The rules of documents beside those of the specification. */
export function validationRulesOf({ disclosure }: Pick<Config, 'disclosure'>): ValidationRule[] {
  const introspection = disclosure.introspection ? IntrospectionAliasRule : NoSchemaIntrospectionCustomRule;
  return [NameLengthRule, introspection];
}

function NameLengthRule(context: ValidationContext): ASTVisitor {
  return {
    Name(node) {
      if (node.value.length <= LONGEST_NAME) return;
      context.reportError(new GraphQLError(`A name has at most ${LONGEST_NAME} characters`, { nodes: node }));
    },
  };
}

/** Rejects aliases that repeat the schema in a response, which the limit of nodes does not count. */
function IntrospectionAliasRule(context: ValidationContext): ASTVisitor {
  return {
    Field({ alias, name }) {
      const isIntrospection = context.getParentType()?.name.startsWith('__') === true;
      if (alias === undefined || (!isIntrospection && name.value !== '__schema')) return;
      const message =
        'This operation has too many aliases: __schema, and fields below it or __type, have none';
      const originalError = new ServiceError('QUERY_TOO_COMPLEX', message);
      context.reportError(new GraphQLError(message, { originalError }));
    },
  };
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
