import type { IncomingHttpHeaders, IncomingMessage } from 'node:http';
import { LRUCache } from 'lru-cache';
import { BadUserInputError, ServiceError } from '../../common/errors.js';
import { parseUrl } from '../../common/url.js';
import { responseType } from '../errors/error-response.js';
import { readMaxStaleness } from '../../database/staleness.js';
import { compressionFor } from './compression.js';
import type { FastifyRequest } from 'fastify';
import type { DocumentReference, RequestParameters, RequestState } from './request-state.js';
import { RejectionError } from '../../http/rejection.js';
import { parse as parseJsonSafely } from 'secure-json-parse';

/** Maximum size of all header fields together, in bytes. */
const MAX_HEADER_BYTES = 16_384;

/** The forms of the responses to valid heads, cached because clients repeat the same head. */
const correct = new LRUCache<string, ResponseForm>({ max: 1000 });
/** Longer heads are not cached. */
const MAX_CACHED_LENGTH = 500;
/** Represents a missing field in keys. No field has this value. */
const NONE = '\0';

type ResponseForm = Pick<RequestState, 'compression'> & { readonly responseType: string };

/** The step that checks the head, before the body is read. Throws as in the table of docs/http.md. */
export function readHead(request: FastifyRequest): void {
  const { method, raw } = request;
  if (method !== 'GET' && method !== 'HEAD' && method !== 'POST') {
    const headers = { allow: 'GET, HEAD, POST' };
    throw new RejectionError(405, 'METHOD_NOT_ALLOWED', 'The endpoint accepts GET, HEAD and POST', headers);
  }
  if (sizeOf(raw.rawHeaders) > MAX_HEADER_BYTES) {
    throw new RejectionError(
      431,
      'PAYLOAD_TOO_LARGE',
      `The headers are larger than ${MAX_HEADER_BYTES} bytes`,
    );
  }
  request.maxStaleness = readMaxStaleness(raw.headers);
  const key = keyOf(raw);
  let form = correct.get(key);
  if (form === undefined) {
    form = checkFields(request);
    if (key.length <= MAX_CACHED_LENGTH) correct.set(key, form);
  }
  request.responseType = form.responseType;
  request.compression = form.compression;
}

function keyOf({ method, headers }: IncomingMessage): string {
  const {
    host = NONE,
    accept = NONE,
    'content-type': type = NONE,
    'content-encoding': coding = NONE,
    'accept-encoding': codings = NONE,
  } = headers;
  return `${method}\n${host}\n${accept}\n${type}\n${coding}\n${codings}`;
}

function sizeOf(rawHeaders: readonly string[]): number {
  let bytes = 0;
  for (const text of rawHeaders) bytes += text.length + 2;
  return bytes;
}

/** Checks the fields on which the cached result depends. */
function checkFields({ method, raw }: FastifyRequest): ResponseForm {
  if (!hasHost(raw)) throw new ServiceError('BAD_REQUEST', 'The Host header is missing or malformed');
  if (method === 'POST') checkBodyFields(raw.headers);
  const mediaType = responseType(raw);
  if (mediaType !== undefined) return { responseType: mediaType, compression: compressionFor(raw) };
  throw new ServiceError(
    'NOT_ACCEPTABLE',
    'The answer is application/json or application/graphql-response+json: Accept has to allow one',
  );
}

/** RFC 9112 §3.2: a request without a valid Host is rejected with 400. */
function hasHost({ headers: { host } }: IncomingMessage): boolean {
  return host !== undefined && !/[/?#@\\]/.test(host) && parseUrl(`http://${host}/`) !== null;
}

function checkBodyFields(headers: IncomingHttpHeaders): void {
  if (!isJson(headers['content-type'])) {
    throw new ServiceError(
      'UNSUPPORTED_MEDIA_TYPE',
      'The body must be JSON: Content-Type: application/json, in UTF-8',
    );
  }
  const coding = headers['content-encoding'] ?? 'identity';
  if (coding.toLowerCase() !== 'identity') {
    throw new ServiceError(
      'UNSUPPORTED_MEDIA_TYPE',
      'The body must be sent as it is, without Content-Encoding',
    );
  }
}

/** RFC 9110 §8.3.1. Without a charset, JSON is UTF-8 (RFC 8259 §8.1), the only accepted charset. */
function isJson(contentType: string | undefined): boolean {
  const [type = '', ...parameters] = (contentType ?? '')
    .toLowerCase()
    .split(';')
    .map((part) => part.trim());
  return (
    type === 'application/json' &&
    parameters.every((parameter) => !/^charset\s*=/.test(parameter) || /^charset="?utf-?8"?$/.test(parameter))
  );
}

const isMissing = (value: unknown) => value === undefined || value === null;
const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** What the members of a request must be (GraphQL over HTTP, draft, §5.4). Others are ignored. */
const MEMBERS: Readonly<Record<string, (value: unknown) => boolean>> = {
  // A document contains no NUL (GraphQL October 2021, §2.1.1), but parsers accept it within strings.
  query: (value) => typeof value === 'string' && value !== '' && !value.includes('\0'),
  operationName: (value) => isMissing(value) || typeof value === 'string',
  variables: (value) => isMissing(value) || isObject(value),
  extensions: (value) => isMissing(value) || isObject(value),
};

const EXPECTED: Record<string, string> = {
  query: 'query is required: a string that is not empty and contains no NUL',
  operationName: 'operationName must be a string',
  variables: 'variables must be a JSON object',
  extensions: 'extensions must be a JSON object',
  documentId: 'documentId must be a string',
};

/** The step that reads the body, or the query string of a GET. Throws ServiceError BAD_REQUEST. */
export function readParameters(request: FastifyRequest): RequestParameters {
  return request.method === 'POST' ? parse(parseBody(request.bodyText)) : readSearch(request.url);
}

function parseBody(text: string | null): unknown {
  if (text === null || text === '') throw new ServiceError('BAD_REQUEST', 'The body is empty');
  try {
    return parseStrictJson(text);
  } catch {
    throw new ServiceError('BAD_REQUEST', 'The body is not valid JSON, or it contains duplicate keys');
  }
}

function parse(parameters: unknown): RequestParameters {
  if (Array.isArray(parameters))
    throw new ServiceError('BAD_REQUEST', 'A request contains one operation: batches are not supported');
  if (!isObject(parameters)) throw new ServiceError('BAD_REQUEST', 'The body must be a JSON object');
  const reference =
    isMissing(parameters['extensions']) && !isMissing(parameters['query']) ? null : referenceIn(parameters);
  const isNamed = reference !== null && isWithoutText(parameters['query']);
  checkMembers(isNamed ? { ...parameters, query: reference.id } : parameters);
  const { query, operationName, variables } = parameters as unknown as RequestParameters;
  // Forms send an empty name instead of omitting it.
  return {
    query: isNamed ? '' : query,
    reference,
    operationName: operationName === '' ? null : (operationName ?? null),
    variables: variables ?? null,
  };
}

function checkMembers(parameters: Readonly<Record<string, unknown>>): void {
  for (const name in MEMBERS) {
    if (MEMBERS[name]?.(parameters[name]) === false)
      throw new ServiceError('BAD_REQUEST', EXPECTED[name] ?? '', { argument: name });
  }
}

function readSearch(url: string): RequestParameters {
  const [, search = ''] = url.split(/\?(.*)/s);
  const given = new URLSearchParams(search);
  for (const name of Object.keys(EXPECTED)) {
    if (given.getAll(name).length > 1) {
      throw new ServiceError('BAD_REQUEST', `${name} is repeated`, { argument: name });
    }
  }
  return parse({
    query: given.get('query') ?? undefined,
    documentId: given.get('documentId'),
    operationName: given.get('operationName'),
    variables: parseJson(given.get('variables'), 'variables'),
    extensions: parseJson(given.get('extensions'), 'extensions'),
  });
}

function parseJson(text: string | null, name: string): unknown {
  if (text === null || text === '') return null;
  try {
    return parseStrictJson(text);
  } catch {
    throw new ServiceError('BAD_REQUEST', EXPECTED[name] ?? '', { argument: name });
  }
}

const QUOTE = 0x22;
const COLON = 0x3a;
const BACKSLASH = 0x5c;

/**
 * Parses JSON that means the same to every parser: no duplicate keys (RFC 8259 §4), and no keys that modify
 * prototypes. Throws SyntaxError.
 */
export function parseStrictJson(text: string): unknown {
  const value: unknown = parseJsonSafely(text, { protoAction: 'error', constructorAction: 'error' });
  // A duplicate key adds a colon to the text, but no member to the parsed value.
  if (countMembers(value) !== countColons(text)) throw new SyntaxError('Two members have one name');
  return value;
}

/** The number of members of all objects. Iterative, because a text can nest deeper than the call stack. */
function countMembers(root: unknown): number {
  let members = 0;
  const pending = [root];
  while (pending.length > 0) {
    const value = pending.pop();
    if (typeof value !== 'object' || value === null) continue;
    const inside: unknown[] = Object.values(value);
    if (!Array.isArray(value)) members += inside.length;
    for (const each of inside) if (typeof each === 'object') pending.push(each);
  }
  return members;
}

/** Counts the colons outside of strings: one for each member. The text must be valid JSON. */
function countColons(text: string): number {
  let colons = 0;
  for (let at = 0; at < text.length; at++) {
    const character = text.charCodeAt(at);
    if (character === COLON) colons++;
    else if (character === QUOTE) at = endOfString(text, at);
  }
  return colons;
}

/** The index of the closing quote of a string. */
function endOfString(text: string, start: number): number {
  let end = text.indexOf('"', start + 1);
  while (isEscaped(text, end)) end = text.indexOf('"', end + 1);
  return end;
}

/** A quote is escaped if an odd number of backslashes precedes it. */
function isEscaped(text: string, at: number): boolean {
  let start = at;
  while (text.charCodeAt(start - 1) === BACKSLASH) start--;
  return (at - start) % 2 === 1;
}

const PERSISTED_QUERY = 'extensions.persistedQuery';
const HASH_MEMBER = `${PERSISTED_QUERY}.sha256Hash`;

/** The characters of a document id (GraphQL over HTTP, draft, appendix A), and the most of them. */
const DOCUMENT_ID = /^[\w.~:-]{1,200}$/;

/**
 * The document that a request names: by `extensions.persistedQuery`, as Apollo's clients do, or without a `query` by
 * `documentId` (GraphQL over HTTP, draft, appendix A). Null if it names none. Throws BadUserInputError.
 */
function referenceIn({
  query,
  documentId,
  extensions,
}: Readonly<Record<string, unknown>>): DocumentReference | null {
  const persisted = (extensions as Record<string, unknown> | null | undefined)?.['persistedQuery'] ?? null;
  if (persisted !== null) return readPersistedQuery(persisted);
  if (!isWithoutText(query) || typeof documentId !== 'string') return null;
  return { id: readId(documentId, 'documentId'), member: 'documentId' };
}

/** Whether a request has no document. Some clients send an empty one with a hash. */
function isWithoutText(query: unknown): boolean {
  return query === undefined || query === null || query === '';
}

function readPersistedQuery(persisted: unknown): DocumentReference {
  const { version, sha256Hash } = Object(persisted) as Record<string, unknown>;
  if (version !== 1)
    throw new BadUserInputError('Unsupported persisted query version', `${PERSISTED_QUERY}.version`);
  return { id: readId(sha256Hash, HASH_MEMBER), member: HASH_MEMBER };
}

function readId(value: unknown, member: DocumentReference['member']): string {
  if (typeof value === 'string' && DOCUMENT_ID.test(value)) return value.replace(/^sha256:/, '');
  throw new BadUserInputError(`${member} must be a hash or an id of at most 200 characters`, member);
}
