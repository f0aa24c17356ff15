import {
  type ArgumentNode,
  type ASTVisitor,
  type FieldNode,
  GraphQLError,
  type GraphQLField,
  type GraphQLSchema,
  Kind,
  type NameNode,
  NoSchemaIntrospectionCustomRule,
  parse,
  type ParseOptions,
  specifiedRules,
  validate,
  type ValidationContext,
  type ValidationRule,
} from 'graphql';
import type { Config } from '../../config/config.js';

/** The largest page size. It is part of the API contract. */
export const LARGEST_PAGE = 100;

/** Maximum length of a name that a client chooses: aliases are repeated in each object of a response, and in each path. */
const LONGEST_NAME = 256;

/** The rules of documents beside those of the specification. */
export function validationRulesOf({ disclosure }: Pick<Config, 'disclosure'>): ValidationRule[] {
  return [
    ConnectionArgumentsRule,
    NameLengthRule,
    ...(disclosure.introspection ? [] : [NoSchemaIntrospectionCustomRule]),
  ];
}

function NameLengthRule(context: ValidationContext): ASTVisitor {
  return {
    Name(node: NameNode) {
      if (node.value.length <= LONGEST_NAME) return;
      context.reportError(new GraphQLError(`A name has at most ${LONGEST_NAME} characters`, { nodes: node }));
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

/** A field with `first` and `last` is a connection. */
export function isConnection({ args }: GraphQLField<unknown, unknown>): boolean {
  return ['first', 'last'].every((size) => args.some(({ name }) => name === size));
}

/** A connection takes exactly one of `first` and `last`, from 0 to 100. CostCount checks the values of variables. */
function ConnectionArgumentsRule(context: ValidationContext): ASTVisitor {
  return {
    Field(node: FieldNode) {
      const field = context.getFieldDef();
      if (!field || !isConnection(field)) return;
      const name = `${context.getParentType()?.name ?? ''}.${field.name}`;
      const report = (message: string, nodes: FieldNode | ArgumentNode) => {
        context.reportError(new GraphQLError(message, { nodes }));
      };
      const sizes = (node.arguments ?? []).filter(
        (each) => /^(first|last)$/.test(each.name.value) && each.value.kind !== Kind.NULL,
      );
      const certain = sizes.filter(({ value }) => value.kind !== Kind.VARIABLE);
      if (sizes.length === 0 || certain.length > 1) report(`${name} takes exactly one of first and last`, node);
      for (const size of certain) {
        // GraphQL's own rules reject values that are not integers.
        if (size.value.kind !== Kind.INT || (Number(size.value.value) >= 0 && Number(size.value.value) <= LARGEST_PAGE))
          continue;
        report(`${size.name.value} of ${name} must be from 0 to ${LARGEST_PAGE}`, size);
      }
    },
  };
}
