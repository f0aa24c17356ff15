import type { IncomingHttpHeaders } from 'node:http';
import { INTERNALS, type HttpRequest, type Listening, send } from './http.js';

export const ERROR_URN = 'urn:ietf:params:scim:api:messages:2.0:Error';
export const LIST_URN = 'urn:ietf:params:scim:api:messages:2.0:ListResponse';
export const SEARCH_URN = 'urn:ietf:params:scim:api:messages:2.0:SearchRequest';
export const USER_URN = 'urn:ietf:params:scim:schemas:core:2.0:User';
export const GROUP_URN = 'urn:ietf:params:scim:schemas:core:2.0:Group';
export const ENTERPRISE_URN = 'urn:ietf:params:scim:schemas:extension:enterprise:2.0:User';
export const FIELDS_URN = 'urn:directory:scim:schemas:fields:1.0:User';
export const GROUP_FIELDS_URN = FIELDS_URN.replace('User', 'Group');

export type Json = Record<string, unknown>;

export interface ScimResource extends Json {
  readonly id: string;
  readonly userName?: string;
  readonly displayName?: string;
}

export interface ScimList {
  readonly totalResults: number;
  readonly itemsPerPage: number;
  readonly startIndex?: number;
  readonly nextCursor?: string;
  /** Absent in a response without resources. */
  readonly Resources: readonly ScimResource[];
}

export interface ScimAnswer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly body: Json;
}

/** Sends requests below /scim/v2 with one token. */
export class ScimClient {
  constructor(
    private readonly service: Listening,
    private readonly authorization: string | null,
  ) {}

  /** @param parameters of the URL */
  async request(
    path: string,
    parameters: Record<string, string | number> = {},
    { headers, ...request }: HttpRequest = {},
  ): Promise<ScimAnswer> {
    const texts = Object.entries(parameters).map(([name, value]): [string, string] => [name, String(value)]);
    const query = texts.length === 0 ? '' : `?${new URLSearchParams(texts).toString()}`;
    const answer = await send(this.service, {
      ...request,
      path: `/scim/v2${path}${query}`,
      headers: { ...(this.authorization !== null && { authorization: this.authorization }), ...headers },
    });
    return { ...answer, body: answer.body === '' ? {} : (JSON.parse(answer.body) as Json) };
  }

  async get(path: string, parameters: Record<string, string | number> = {}): Promise<Json> {
    const { status, headers, body } = await this.request(path, parameters);
    expect([status, status === 200 ? null : body['detail']]).toEqual([200, null]);
    expect(headers['content-type']).toMatch(/^application\/scim\+json(; charset=utf-8)?$/);
    return body;
  }

  /** A page, whose form is checked. */
  async list(path: string, parameters: Record<string, string | number> = {}): Promise<ScimList> {
    const body = await this.get(path, parameters);
    expect(body).toMatchObject({ schemas: [LIST_URN], totalResults: expect.any(Number) as number });
    const { Resources = [], ...rest } = body as unknown as Partial<ScimList> & Omit<ScimList, 'Resources'>;
    expect(rest.itemsPerPage).toBe(Resources.length);
    return { ...rest, Resources };
  }

  search(path: string, content: Json): Promise<ScimAnswer> {
    return this.post(`${path}/.search`, { schemas: [SEARCH_URN], ...content });
  }

  post(path: string, content: unknown, type = 'application/scim+json'): Promise<ScimAnswer> {
    const body = typeof content === 'string' ? content : JSON.stringify(content);
    return this.request(path, {}, { method: 'POST', headers: { 'content-type': type }, body });
  }

  /** All pages by cursor. */
  async pages(path: string, parameters: Record<string, string | number>): Promise<ScimList[]> {
    const pages: ScimList[] = [];
    for (let cursor: string | undefined = ''; cursor !== undefined;) {
      const page: ScimList = await this.list(path, { ...parameters, cursor });
      pages.push(page);
      cursor = page.nextCursor;
    }
    return pages;
  }

  /** The ids of all users and groups, by user name and by display name in lower case. */
  async readIds(): Promise<Record<string, string>> {
    const pages = [await this.list('/Users'), await this.list('/Groups')];
    const ids = pages.flatMap((page) =>
      namesOf(page).map((name = '', index) => [name.toLowerCase(), page.Resources[index]?.id]),
    );
    return Object.fromEntries(ids) as Record<string, string>;
  }
}

/** The names of the users, or of the groups, of pages. */
export function namesOf(...pages: readonly Pick<ScimList, 'Resources'>[]): (string | undefined)[] {
  return pages.flatMap(({ Resources }) => Resources.map((each) => each.userName ?? each.displayName));
}

/** Status, scimType and detail of an error, whose form is checked (RFC 7644 §3.12). */
export function scimErrorOf({ status, headers, body }: ScimAnswer): [number, string | null, string] {
  expect(headers['content-type']).toMatch(/^application\/scim\+json(; charset=utf-8)?$/);
  expect(body).toMatchObject({
    schemas: [ERROR_URN],
    status: String(status),
    detail: expect.stringMatching(/./) as string,
  });
  expect(JSON.stringify(body)).not.toMatch(INTERNALS);
  const { scimType = null, detail } = body;
  return [status, scimType as string | null, detail as string];
}
