/** A response of the GraphQL endpoint. */
export interface Answer<Data = Record<string, unknown>> {
  status: number;
  headers: Headers;
  data: Data | null | undefined;
  errors: {
    message: string;
    path?: (string | number)[];
    extensions: Record<string, unknown> & { code: string };
  }[];
}

export interface QueryOptions {
  /** The Authorization header. */
  authorization?: string;
  variables?: Record<string, unknown>;
  operationName?: string;
  headers?: Record<string, string>;
}

/** Sends an operation by POST to the service with this URL. For other requests, see http.ts. */
export async function sendQuery<Data = Record<string, unknown>>(
  url: string,
  query: string,
  { authorization, headers, ...parameters }: QueryOptions = {},
): Promise<Answer<Data>> {
  const response = await fetch(`${url}/graphql/v1`, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      ...(authorization === undefined ? {} : { authorization }),
      ...headers,
    },
    body: JSON.stringify({ query, ...parameters }),
  });
  const { data, errors = [] } = (await response.json()) as Pick<Answer<Data>, 'data'> & Partial<Answer<Data>>;
  return { status: response.status, headers: response.headers, data, errors };
}

/** Returns the data of a response, which must have no errors. */
export async function readData<Data = Record<string, unknown>>(
  url: string,
  query: string,
  options: QueryOptions = {},
): Promise<Data> {
  const { data, errors } = await sendQuery<Data>(url, query, options);
  expect(errors).toEqual([]);
  if (data === null || data === undefined) throw new Error('There is no data');
  return data;
}
