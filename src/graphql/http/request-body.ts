import type { FastifyRequest } from 'fastify';
import { z } from 'zod';
import { ServiceError } from '../../common/errors.js';
import { parseUnequivocalJson } from './strict-json.js';

/** RFC-to-be «GraphQL over HTTP», §5.4: what a request has, whichever way it comes. Other members are ignored. */
const Shape = z.object({
  // No document has one (GraphQL October 2021, §2.1.1), whatever parsers pass within strings.
  query: z
    .string()
    .min(1)
    .refine((query) => !query.includes('\0')),
  operationName: z.string().nullish(),
  variables: z.record(z.string(), z.unknown()).nullish(),
  extensions: z.record(z.string(), z.unknown()).nullish(),
});

const EXPECTED: Record<string, string> = {
  query: 'query must be there, as a text that is not empty and has no NUL',
  operationName: 'operationName must be a text',
  variables: 'variables must be a JSON object',
  extensions: 'extensions must be a JSON object',
};

/**
 * What a request asks for: `extensions` are accepted and not passed on, because some mean something to Apollo that is not
 * offered here.
 */
export type RequestParameters = Omit<z.infer<typeof Shape>, 'extensions'>;

/**
 * Checks the shape of a request.
 * @throws ServiceError BAD_REQUEST
 */
export function readRequest(request: FastifyRequest): RequestParameters {
  return request.method === 'POST' ? parse(parseBody(request.bodyText)) : readSearch(request);
}

/** Leaves of a request what Apollo is to see. */
export function passOn(request: FastifyRequest, parameters: RequestParameters): void {
  if (request.method === 'POST') {
    request.body = parameters;
    // Apollo looks at it once more.
    request.raw.headers['content-type'] = 'application/json';
    return;
  }
  const [path = ''] = request.url.split('?', 1);
  request.raw.url = `${path}?${searchOf(parameters)}`;
  // A GET has no content whose type could matter; Apollo minds it.
  delete request.raw.headers['content-type'];
}

function parseBody(text: string | null): unknown {
  if (text === null || text === '') throw new ServiceError('BAD_REQUEST', 'The body is empty');
  try {
    return parseUnequivocalJson(text);
  } catch {
    throw new ServiceError('BAD_REQUEST', 'The body is not valid JSON, in which nothing has two meanings');
  }
}

function parse(parameters: unknown): RequestParameters {
  if (Array.isArray(parameters))
    throw new ServiceError('BAD_REQUEST', 'One operation a request: batches are not answered');
  const result = Shape.safeParse(parameters);
  if (result.success) {
    const { query, operationName, variables } = result.data;
    // An empty name is what forms send for none.
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

function readSearch({ url }: FastifyRequest): RequestParameters {
  const [, search = ''] = url.split(/\?(.*)/s);
  const given = new URLSearchParams(search);
  for (const name of Object.keys(EXPECTED)) {
    if (given.getAll(name).length > 1) {
      throw new ServiceError('BAD_REQUEST', `${name} is given more than once`, { argument: name });
    }
  }
  return parse({
    query: given.get('query') ?? undefined,
    operationName: given.get('operationName'),
    variables: parseJson(given.get('variables'), 'variables'),
    extensions: parseJson(given.get('extensions'), 'extensions'),
  });
}

function searchOf({ query, operationName, variables }: RequestParameters): string {
  const search = new URLSearchParams({ query });
  if (operationName !== null && operationName !== undefined) search.set('operationName', operationName);
  if (variables) search.set('variables', JSON.stringify(variables));
  return search.toString();
}

function parseJson(text: string | null, name: string): unknown {
  if (text === null || text === '') return null;
  try {
    return parseUnequivocalJson(text);
  } catch {
    throw new ServiceError('BAD_REQUEST', EXPECTED[name] ?? '', { argument: name });
  }
}
