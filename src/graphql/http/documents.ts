import {
  type ASTVisitor,
  type DocumentNode,
  GraphQLError,
  type GraphQLSchema,
  NoSchemaIntrospectionCustomRule,
  parse,
  specifiedRules,
  validate,
  type ValidationContext,
  type ValidationRule,
} from 'graphql';
import { ServiceError, BadUserInputError } from '../../common/errors.js';
import { type Config, ConfigError } from '../../config/config.js';
import { hash } from 'node:crypto';
import type { ApolloDriverConfig } from '@nestjs/apollo';
import { Inject, Injectable } from '@nestjs/common';
import { LRUCache } from 'lru-cache';
import { CONFIG } from '../../config/config.module.js';
import type { RequestParameters } from './request-context.js';

/**
 * Apollo's own stores do not limit the number of persisted queries, and count documents without their white space and comments.
 * Apollo awaits what a store returns, so that a synchronous one will do. The nodes of a document take a multiple of its text.
 */
export function boundedStores(): Pick<ApolloDriverConfig, 'persistedQueries' | 'documentStore'> {
  const store = <Value extends object | string>(charactersOf: (value: Value) => number) =>
    new LRUCache<string, Value>({
      maxSize: 10_000_000,
      sizeCalculation: (value) => 200 + charactersOf(value),
    });
  const documents = store<DocumentNode>(({ loc }) => 4 * (loc?.end ?? 0));
  return {
    persistedQueries: { cache: store<string>(({ length }) => length) as never },
    documentStore: documents as never,
  };
}

export function validationRulesOf({ disclosure }: Pick<Config, 'disclosure'>): ValidationRule[] {
  return [disclosure.introspection ? IntrospectionAliasRule : NoSchemaIntrospectionCustomRule];
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

/** The messages of the errors of a document, as the endpoint has them. */
export function findDocumentErrors(schema: GraphQLSchema, text: string, config: Config): string[] {
  try {
    const rules = [...specifiedRules, ...validationRulesOf(config)];
    const document = parse(text, { maxLexicalTokens: config.limits.tokens });
    return validate(schema, document, rules).map(({ message }) => message);
  } catch (error) {
    if (error instanceof GraphQLError) return [error.message];
    throw error;
  }
}

/** The documents of TRUSTED_DOCUMENTS, which clients may send (docs/adr/0047). */
@Injectable()
export class TrustedDocuments {
  private readonly texts: ReadonlySet<string>;

  constructor(@Inject(CONFIG) private readonly config: Config) {
    this.texts = new Set(config.trustedDocuments?.values());
  }

  /**
   * Replaces the id of a trusted document by its text, and checks the hash of every other one.
   * @throws ServiceError DOCUMENT_NOT_TRUSTED
   * @throws BadUserInputError if the hash is malformed, or not that of the text
   */
  resolve(parameters: RequestParameters): RequestParameters {
    const { query, reference } = parameters;
    const trusted = reference === null ? undefined : this.config.trustedDocuments?.get(reference.id);
    if (trusted !== undefined && (query === undefined || query === trusted))
      return { ...parameters, query: trusted, reference: null };
    if (this.config.trustedDocuments !== null && !this.texts.has(query ?? '')) {
      const message = 'This service executes only the documents that its operators have approved';
      throw new ServiceError('DOCUMENT_NOT_TRUSTED', message);
    }
    if (reference === null) return parameters;
    const { id, member } = reference;
    if (!/^[0-9a-f]{64}$/.test(id))
      throw new BadUserInputError(`${member} must be a SHA-256 of 64 lower-case hexadecimal digits`, member);
    if (query !== undefined && hash('sha256', query) !== id)
      throw new BadUserInputError('provided sha does not match query', member);
    return parameters;
  }

  /** @throws ConfigError with all errors of all documents */
  check(schema: GraphQLSchema): void {
    const problems = [...(this.config.trustedDocuments ?? [])].flatMap(([id, text]) =>
      findDocumentErrors(schema, text, this.config).map(
        (error) => `TRUSTED_DOCUMENTS: «${id}» is not valid: ${error}`,
      ),
    );
    if (problems.length > 0) throw new ConfigError(problems);
  }
}
