import { z } from 'zod';
import { ServiceError } from '../../common/errors.js';
import type { PipelineRequest, RequestParameters } from './pipeline-request.js';
import { parseStrictJson } from './strict-json.js';

/** The members of a request (GraphQL over HTTP, draft, §5.4). Others are ignored. */
const Shape = z.object({
  // A document contains no NUL (GraphQL October 2021, §2.1.1), but parsers accept it within strings.
  query: z
    .string()
    .min(1)
    .refine((query) => !query.includes('\0')),
  operationName: z.string().nullish(),
  variables: z.record(z.string(), z.unknown()).nullish(),
  extensions: z.record(z.string(), z.unknown()).nullish(),
});

const EXPECTED: Record<string, string> = {
  query: 'query is required: a string that is not empty and contains no NUL',
  operationName: 'operationName must be a string',
  variables: 'variables must be a JSON object',
  extensions: 'extensions must be a JSON object',
};

/**
 * The step that reads the body, or the query string of a GET.
 * @throws ServiceError BAD_REQUEST
 */
export function readParameters(request: PipelineRequest): RequestParameters {
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
  const result = Shape.safeParse(parameters);
  if (result.success) {
    const { query, operationName, variables } = result.data;
    // Forms send an empty name instead of omitting it.
    return {
      query,
      operationName: operationName === '' ? null : (operationName ?? null),
      variables: variables ?? null,
    };
  }
  const name = result.error.issues[0]?.path[0];
  throw new ServiceError('BAD_REQUEST', EXPECTED[String(name)] ?? 'The body must be a JSON object', {
    ...(typeof name === 'string' ? { argument: name } : {}),
  });
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
