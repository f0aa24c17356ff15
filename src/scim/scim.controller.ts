import {
  All,
  type CanActivate,
  Controller,
  type ExecutionContext,
  Inject,
  Injectable,
  type OnModuleInit,
  Param,
  Req,
  Res,
  UseGuards,
} from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { AccessLog } from '../access-log/access-log.js';
import { CurrentPrincipal, RequireScopes, RequireToken } from '../auth/access.js';
import type { Principal } from '../auth/principal.js';
import { ServiceError } from '../common/errors.js';
import { isUuid } from '../common/identity.js';
import type { Config } from '../config/config.js';
import { CONFIG } from '../config/config.module.js';
import { Database } from '../database/database.js';
import { headersOfRead, readMaxStaleness } from '../database/revisions.js';
import { RequestContext } from '../graphql/http/request-context.js';
import { RateLimiter, rateLimitHeaders } from '../graphql/rate-limit/rate-limiter.js';
import { matchesEtag } from '../http/headers.js';
import { HttpAdapter } from '../http/http-adapter.js';
import { RejectionError } from '../http/rejection.js';
import { mediaTypeOf, ScimError } from './scim-error.js';
import { LARGEST_PAGE, readQuery, type ScimQuery } from './scim-query.js';
import { type Asked, ScimResources } from './scim-resources.js';
import { CORE, type Kind, KINDS } from './scim-schemas.js';

/** Objects for a point, and objects that a page by `startIndex` skips for one. */
const OBJECTS_PER_POINT = 100;
const SKIPPED_PER_POINT = 25_000;
const LIST = ['urn:ietf:params:scim:api:messages:2.0:ListResponse'];

/** The first steps of every request: the limit of requests, the method, and the media type of the answer. */
@Injectable()
export class ScimGuard implements CanActivate {
  constructor(private readonly limiter: RateLimiter) {}

  async canActivate(context: ExecutionContext): Promise<boolean> {
    const request = context.switchToHttp().getRequest<FastifyRequest>();
    request.rateLimits = [];
    await this.limiter.countRequest(request);
    const { url = '' } = request.routeOptions;
    if (/\/(?:Me|Bulk)$/.test(url))
      throw new RejectionError(501, 'METHOD_NOT_ALLOWED', 'This part of SCIM is not supported');
    const allow = url.endsWith('/.search') ? 'POST' : 'GET, HEAD';
    if (!allow.split(', ').includes(request.method))
      throw new RejectionError(405, 'METHOD_NOT_ALLOWED', 'The directory can only be read', { allow });
    request.responseType = mediaTypeOf(request.raw) ?? null;
    if (request.responseType !== null) return true;
    throw new ServiceError('NOT_ACCEPTABLE', 'Accept has to allow application/scim+json or application/json');
  }
}

/** SCIM 2.0 (RFC 7643, 7644, 9865), reading only: docs/scim.md. */
@RequireToken()
@Controller('scim/v2')
@UseGuards(ScimGuard)
export class ScimController implements OnModuleInit {
  constructor(
    @Inject(CONFIG) private readonly config: Config,
    private readonly database: Database,
    private readonly limiter: RateLimiter,
    private readonly accessLog: AccessLog,
    private readonly resources: ScimResources,
    private readonly adapterHost: HttpAdapterHost,
  ) {}

  /** Keeps the body of a search as text, like that of other JSON. */
  onModuleInit(): void {
    const adapter = this.adapterHost.httpAdapter as unknown;
    if (!(adapter instanceof HttpAdapter)) return;
    const fastify = adapter.getInstance<FastifyInstance>();
    fastify.addContentTypeParser('application/scim+json', { parseAs: 'string' }, (request, body, done) => {
      request.bodyText = String(body);
      done(null);
    });
  }

  @All(['Me', 'Bulk'])
  refuse(): void {
    // The guard answers.
  }

  @All('ServiceProviderConfig')
  getConfig(@Req() request: FastifyRequest, @Res() reply: FastifyReply): void {
    const scheme = (type: string, name: string, description: string) => ({ type, name, description });
    this.sendDocument(request, reply, {
      schemas: [`${CORE}ServiceProviderConfig`],
      patch: { supported: false },
      bulk: { supported: false, maxOperations: 0, maxPayloadSize: 0 },
      filter: { supported: true, maxResults: LARGEST_PAGE },
      changePassword: { supported: false },
      sort: { supported: true },
      etag: { supported: true },
      pagination: {
        ...{ cursor: true, index: true, defaultPaginationMethod: 'index' },
        ...{ defaultPageSize: LARGEST_PAGE, maxPageSize: LARGEST_PAGE },
      },
      authenticationSchemes: [
        scheme('oauthbearertoken', 'OAuth Bearer Token', 'An access token of the identity provider.'),
        scheme('httpbasic', 'HTTP Basic', 'The id and the secret of a service account.'),
      ],
      meta: this.metaOf('ServiceProviderConfig', 'ServiceProviderConfig'),
    });
  }

  @All(['ResourceTypes', 'ResourceTypes/:id'])
  getResourceTypes(
    @Req() request: FastifyRequest,
    @Res() reply: FastifyReply,
    @CurrentPrincipal() principal: Principal,
    @Param('id') id?: string,
  ): void {
    const documents = KINDS.map((kind) => this.resources.typeOf(kind, principal)[0].document);
    this.sendDocuments(request, reply, 'ResourceType', documents, id);
  }

  @All(['Schemas', 'Schemas/:id'])
  getSchemas(
    @Req() request: FastifyRequest,
    @Res() reply: FastifyReply,
    @CurrentPrincipal() principal: Principal,
    @Param('id') id?: string,
  ): void {
    const documents = KINDS.flatMap((kind) => this.resources.typeOf(kind, principal)[0].schemas);
    this.sendDocuments(request, reply, 'Schema', documents, id);
  }

  @RequireScopes('directory')
  @All(['Users', 'Users/.search'])
  listUsers(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    return this.list(['User'], request, reply);
  }

  @RequireScopes('read')
  @All(['Groups', 'Groups/.search'])
  listGroups(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    return this.list(['Group'], request, reply);
  }

  @RequireScopes('read', 'directory')
  @All('.search')
  listAll(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    return this.list(KINDS, request, reply);
  }

  @RequireScopes('read')
  @All('Users/:id')
  getUser(
    @Req() request: FastifyRequest,
    @Res() reply: FastifyReply,
    @Param('id') id: string,
  ): Promise<void> {
    return this.getOne('User', id, request, reply);
  }

  @RequireScopes('read')
  @All('Groups/:id')
  getGroup(
    @Req() request: FastifyRequest,
    @Res() reply: FastifyReply,
    @Param('id') id: string,
  ): Promise<void> {
    return this.getOne('Group', id, request, reply);
  }

  private async getOne(kind: Kind, id: string, request: FastifyRequest, reply: FastifyReply): Promise<void> {
    const { attributes, excludedAttributes } = request.query as Record<string, unknown>;
    const query = readQuery({ attributes, excludedAttributes });
    await this.answer(request, reply, query, false, async (asked) => {
      await asked.pay(1);
      const [found] = isUuid(id)
        ? (await this.resources.read(kind, asked, { first: 1 }, 0, id)).resources
        : [];
      if (found === undefined) throw new ServiceError('NOT_FOUND', `There is no ${kind} with this id`);
      void reply.headers({ location: found.location, etag: found.version });
      const given = request.headers['if-none-match'];
      return matchesEtag(given, found.version.slice(2)) ? null : found.text;
    });
  }

  private async list(kinds: readonly Kind[], request: FastifyRequest, reply: FastifyReply): Promise<void> {
    const query = readQuery(
      request.method === 'POST' ? readBody(request) : (request.query as Record<string, unknown>),
    );
    const { count, cursor, startIndex } = query;
    await this.answer(request, reply, query, kinds.length > 1, async (asked) => {
      const skipped = cursor === null ? Math.floor(startIndex / SKIPPED_PER_POINT) : 0;
      await asked.pay(count + skipped * OBJECTS_PER_POINT);
      const list = cursor === null ? this.readByIndex(kinds, asked) : this.readByCursor(kinds, asked, cursor);
      const { texts, ...head } = await list;
      const shown = count === 0 ? '' : `,"Resources":[${texts.join(',')}]`;
      return `${JSON.stringify({ schemas: LIST, ...head, itemsPerPage: texts.length }).slice(0, -1)}${shown}}`;
    });
  }

  private async readByIndex(kinds: readonly Kind[], asked: Asked) {
    const { count, startIndex } = asked.query;
    const texts: string[] = [];
    let totalResults = 0;
    for (const kind of kinds) {
      const offset = Math.max(0, startIndex - 1 - totalResults);
      const { page, resources } = await this.resources.read(
        kind,
        asked,
        { first: count - texts.length },
        offset,
      );
      texts.push(...resources.map(({ text }) => text));
      totalResults += page.totalCount;
    }
    return { totalResults, startIndex, texts };
  }

  /** A cursor is the kind of its resources, `.` or `~` for the page after or before it, and a cursor of their list. */
  private async readByCursor(kinds: readonly Kind[], asked: Asked, cursor: string) {
    const { count } = asked.query;
    const [, first = kinds[0], direction = '.', given = ''] = /^(User|Group)([.~])(.*)$/s.exec(cursor) ?? [];
    const start = kinds.indexOf(first as Kind);
    if (start < 0 || (cursor !== '' && given === '' && start === 0))
      throw new ScimError(
        'invalidCursor',
        'The cursor is not one of this list: begin again with an empty one',
      );
    const texts: string[] = [];
    const links: { nextCursor?: string; previousCursor?: string } = {};
    let totalResults = 0;
    for (const [index, kind] of kinds.entries()) {
      const isBefore = direction === '~' && index === start;
      const left = index < start || (direction === '~' && index > start) ? 0 : count - texts.length;
      const at = index === start && given !== '' ? given : null;
      const bounds = isBefore ? { last: left, before: at } : { first: left, after: at };
      const { page, resources } = await this.resources.read(kind, asked, bounds, 0);
      totalResults += page.totalCount;
      texts.push(...resources.map(({ text }) => text));
      const [begin, end] = [page.cursorAt(0), page.cursorAt(page.rows.length - 1)];
      if (index === start && page.hasPreviousPage && begin !== null)
        links.previousCursor = `${kind}~${begin}`;
      if (left > 0 && page.hasNextPage && end !== null) links.nextCursor = `${kind}.${end}`;
      else if (left > 0 && texts.length === count && index + 1 < kinds.length)
        links.nextCursor = `${kinds[index + 1] ?? ''}.`;
    }
    return { totalResults, ...links, texts };
  }

  /** Reads the mirror, all of one revision, and sends the text. Null: the client has it. */
  private async answer(
    request: FastifyRequest,
    reply: FastifyReply,
    query: ScimQuery,
    isOfAll: boolean,
    read: (asked: Asked) => Promise<string | null>,
  ): Promise<void> {
    const { revisions } = this.database;
    const { principal, headers } = request;
    if (principal === null) throw new ServiceError('UNAUTHENTICATED', 'A token is needed');
    await revisions.refuseStale(readMaxStaleness(headers));
    const before = revisions.asOf;
    const context = new RequestContext(request, this.database, this.config.directory.visibility.bypass);
    context.reset();
    let [objects, points] = [0, 0];
    const pay = async (more: number) => {
      objects += more;
      const cost = Math.max(1, Math.ceil(objects / OBJECTS_PER_POINT));
      if (cost <= points) return;
      const [requests] = request.rateLimits ?? [];
      await this.limiter.charge(request, { points: cost - points }, false);
      const last = request.rateLimits?.at(-1);
      points = cost;
      request.rateLimits = [requests, last && { ...last, cost }].filter((each) => each !== undefined);
    };
    let personal = new Map<string, number>();
    const attempt = () => {
      objects = 0;
      personal = new Map();
      const note = (field: string, users: number) =>
        void personal.set(field, (personal.get(field) ?? 0) + users);
      return read({ query, principal, context, isOfAll, pay, note });
    };
    let text = await attempt();
    if (context.revisions.size > 1)
      text = await this.database.previewTransaction(
        (transaction) => {
          context.startPreview(transaction);
          return attempt();
        },
        context.viewer,
        true,
      );
    const [revision = null] = context.revisions;
    if (revision !== null) void reply.headers(headersOfRead(await revisions.describe(revision, before)));
    // A response without a body discloses no personal data.
    if (text !== null && request.method !== 'HEAD')
      this.accessLog.note(principal, { fields: [...personal.keys()], users: [...personal.values()] });
    this.send(request, reply, text);
  }

  private metaOf(resourceType: string, path: string) {
    return { resourceType, location: this.resources.urlOf(path) };
  }

  /** Documents about the service, or the one with an id. They are not filtered (RFC 7644 §4). */
  private sendDocuments(
    request: FastifyRequest,
    reply: FastifyReply,
    type: string,
    documents: readonly Readonly<Record<string, unknown>>[],
    id?: string,
  ): void {
    if ((request.query as Record<string, unknown>)['filter'] !== undefined)
      throw new ServiceError('FORBIDDEN', `A list of ${type}s cannot be filtered`);
    const all = documents.map((each) => ({
      ...each,
      meta: this.metaOf(type, `${type}s/${String(each['id'])}`),
    }));
    const one = all.find((each: Readonly<Record<string, unknown>>) => each['id'] === id);
    if (id !== undefined && one === undefined)
      throw new ServiceError('NOT_FOUND', `There is no ${type} with this id`);
    const { length } = all;
    this.sendDocument(
      request,
      reply,
      one ?? { schemas: LIST, totalResults: length, startIndex: 1, itemsPerPage: length, Resources: all },
    );
  }

  private sendDocument(request: FastifyRequest, reply: FastifyReply, document: object): void {
    this.send(request, reply, JSON.stringify(document));
  }

  private send({ responseType, rateLimits }: FastifyRequest, reply: FastifyReply, text: string | null): void {
    const vary = reply.getHeader('vary');
    const cached = {
      'cache-control': 'private, no-cache',
      vary: `${vary === undefined ? '' : `${String(vary)}, `}Accept, Authorization`,
    };
    void reply.headers({ ...cached, ...rateLimitHeaders(rateLimits ?? []) }).code(text === null ? 304 : 200);
    // As bytes: Fastify adds a charset to text, which the media type does not have.
    void reply.type(responseType ?? '').send(text === null ? undefined : Buffer.from(text));
  }
}

/** @throws ScimError */
function readBody({ bodyText }: FastifyRequest): Record<string, unknown> {
  try {
    const body: unknown = JSON.parse(bodyText ?? '');
    if (typeof body === 'object' && body !== null && !Array.isArray(body))
      return body as Record<string, unknown>;
  } catch {
    // Rejected below, like JSON that is not an object.
  }
  throw new ScimError('invalidSyntax', 'The body must be one JSON object');
}
