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
import { ServiceError, BadUserInputError } from '../../common/errors.js';
import { type Config, ConfigError } from '../../config/config.js';
import { hash } from 'node:crypto';
import type { GraphQLRequestContextDidResolveOperation } from '@apollo/server';
import { Inject, Injectable, Logger } from '@nestjs/common';
import { LRUCache } from 'lru-cache';
import { CONFIG } from '../../config/config.module.js';
import { Limit, Limits } from '../../limits/limits.js';
import type { RequestContext, RequestParameters } from './request-context.js';

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

/** Other documents that are remembered as logged. */
const MAX_LOGGED = 1000;

/** The documents of TRUSTED_DOCUMENTS, which clients may send (docs/adr/0047). */
@Injectable()
export class TrustedDocuments {
  private readonly logger = new Logger('GraphQL');
  private readonly byId: ReadonlyMap<string, string>;
  private readonly texts: ReadonlySet<string>;
  /** Whether other documents are logged. */
  private readonly isLogged: boolean;
  /** Whether other documents are refused. */
  private readonly isEnforced: boolean;
  private readonly logged = new LRUCache<string, true>({ max: MAX_LOGGED });

  constructor(@Inject(CONFIG) private readonly config: Config) {
    const { trustedDocuments: given } = config;
    this.byId = given?.documents ?? new Map<string, string>();
    this.texts = new Set(this.byId.values());
    this.isLogged = given?.isEnforced === false;
    this.isEnforced = given?.isEnforced === true;
  }

  /**
   * Replaces the id of a trusted document by its text, and checks the hash of every other one.
   * @throws ServiceError DOCUMENT_NOT_TRUSTED
   * @throws BadUserInputError if the hash is malformed, or not that of the text
   */
  resolve(parameters: RequestParameters): RequestParameters {
    const { query, reference } = parameters;
    const trusted = reference === null ? undefined : this.byId.get(reference.id);
    if (trusted !== undefined && (query === '' || query === trusted))
      return { ...parameters, query: trusted, reference: null };
    if (this.isEnforced && !this.texts.has(query)) {
      const message = 'This service executes only the documents that its operators have approved';
      throw new ServiceError('DOCUMENT_NOT_TRUSTED', message);
    }
    if (reference === null) return parameters;
    const { id, member } = reference;
    if (!/^[0-9a-f]{64}$/.test(id))
      throw new BadUserInputError(`${member} must be a SHA-256 of 64 lower-case hexadecimal digits`, member);
    if (query !== '' && hash('sha256', query) !== id)
      throw new BadUserInputError('provided sha does not match query', member);
    return parameters;
  }

  /** Logs a document that is executed, and would be refused. */
  note(sha256: string, text: string): void {
    if (!this.isLogged || this.texts.has(text) || this.logged.has(sha256)) return;
    this.logged.set(sha256, true);
    this.logger.warn(`A document is not in TRUSTED_DOCUMENTS: SHA-256 ${sha256}`);
  }

  /** Checks all documents before the first request. Throws ConfigError with all errors of all documents. */
  check(schema: GraphQLSchema): void {
    const problems = [...this.byId].flatMap(([id, text]) =>
      findDocumentErrors(schema, text, this.config).map(
        (error) => `TRUSTED_DOCUMENTS: «${id}» is not valid: ${error}`,
      ),
    );
    if (problems.length > 0) throw new ConfigError(problems);
  }
}

/** Bytes of all documents of a process. */
const MAX_BYTES = 20_000_000;
/** Bytes of new documents of one principal in a day, so that no principal displaces the documents of all others. */
const MAX_BYTES_PER_PRINCIPAL = 2_000_000;
const DAY_SECONDS = 86_400;
/** Bytes of a document besides its text, at two bytes a character. It also limits their number. */
const OVERHEAD_BYTES = 300;

const bytesOf = (text: string) => 2 * text.length + OVERHEAD_BYTES;
/** Apollo's key is a prefix and the SHA-256. */
const sha256Of = (key: string) => key.slice(-64);

/** Apollo's cache of persisted queries by SHA-256. */
@Injectable()
export class PersistedDocuments {
  private readonly texts = new LRUCache<string, string>({ maxSize: MAX_BYTES, sizeCalculation: bytesOf });
  private readonly limit = new Limit('documents', MAX_BYTES_PER_PRINCIPAL, DAY_SECONDS);

  constructor(
    private readonly trusted: TrustedDocuments,
    private readonly limits: Limits,
  ) {}

  get(key: string): Promise<string | undefined> {
    return Promise.resolve(this.texts.get(sha256Of(key)));
  }

  set(key: string, text: string): Promise<void> {
    this.texts.set(sha256Of(key), text);
    return Promise.resolve();
  }

  delete(key: string): Promise<boolean> {
    return Promise.resolve(this.texts.delete(sha256Of(key)));
  }

  /**
   * Lets Apollo register the document of an operation that the policy allows, for principals only, unless the principal has
   * registered too much today. A text that this process knows costs nothing.
   */
  async admit({
    source,
    queryHash,
    metrics,
    contextValue: { principal },
  }: GraphQLRequestContextDidResolveOperation<RequestContext>): Promise<void> {
    this.trusted.note(queryHash, source);
    if (metrics.persistedQueryRegister !== true || this.texts.has(queryHash)) return;
    metrics.persistedQueryRegister =
      principal !== null &&
      (await this.limits.takeOne(this.limit, principal.countedAs, bytesOf(source))).isTaken;
  }
}
