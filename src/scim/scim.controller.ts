import {
  All,
  type CallHandler,
  Controller,
  type ExecutionContext,
  Inject,
  Injectable,
  Module,
  type NestInterceptor,
  type OnModuleInit,
  Param,
  Req,
  UseInterceptors,
} from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { map, type Observable } from 'rxjs';
import { AccessLog } from '../access-log/access-log.js';
import { CurrentPrincipal, RequireScopes, RequireToken } from '../auth/access.js';
import type { Principal } from '../auth/principal.js';
import { ServiceError } from '../common/errors.js';
import { isUuid } from '../common/identity.js';
import type { Config } from '../config/config.js';
import { CONFIG } from '../config/config.module.js';
import { Database } from '../database/database.js';
import { headersOfRead, readMaxStaleness } from '../database/revisions.js';
import { GraphQLModule } from '../graphql/graphql.module.js';
import { RequestContext } from '../graphql/http/request-context.js';
import { RateLimiter, rateLimitHeaders } from '../graphql/rate-limit/rate-limiter.js';
import { GroupsModule } from '../groups/groups.module.js';
import { matchesEtag } from '../http/headers.js';
import { HttpAdapter } from '../http/http-adapter.js';
import { RejectionError } from '../http/rejection.js';
import { MediaModule } from '../media/media.module.js';
import { UsersModule } from '../users/users.module.js';
import { mediaTypeOf, ScimError } from './scim-error.js';
import { LARGEST_PAGE, readQuery, type ScimQuery } from './scim-query.js';
import { type Asked, ScimResources } from './scim-resources.js';
import { CORE, type Kind, KINDS } from './scim-schemas.js';

/** Objects for a point, and objects that a page by `startIndex` skips for one. */
const OBJECTS_PER_POINT = 100;
const SKIPPED_PER_POINT = 25_000;
const LIST = ['urn:ietf:params:scim:api:messages:2.0:ListResponse'];

/** An answer as JSON. Null: the client has it. */
interface Answer {
  readonly text: string | null;
  readonly headers?: Readonly<Record<string, string>>;
}

/** The first and the last step of every request: limit of requests, method and media type; headers. */
@Injectable()
class ScimInterceptor implements NestInterceptor<Answer> {
  constructor(private readonly limiter: RateLimiter) {}

  async intercept(
    context: ExecutionContext,
    next: CallHandler<Answer>,
  ): Promise<Observable<Buffer | undefined>> {
    const request = context.switchToHttp().getRequest<FastifyRequest>();
    const reply = context.switchToHttp().getResponse<FastifyReply>();
    request.rateLimits = [];
    await this.limiter.countRequest(request);
    const { url = '' } = request.routeOptions;
    if (/\/(?:Me|Bulk)$/.test(url)) throw new RejectionError(501, 'METHOD_NOT_ALLOWED', 'Not supported');
    const allow = url.endsWith('/.search') ? 'POST' : 'GET, HEAD';
    if (!allow.split(', ').includes(request.method))
      throw new RejectionError(405, 'METHOD_NOT_ALLOWED', 'The directory can only be read', { allow });
    const type = mediaTypeOf(request.raw);
    if (type === undefined)
      throw new ServiceError('NOT_ACCEPTABLE', 'Accept has to allow application/scim+json');
    return next.handle().pipe(
      map(({ text, headers }) => {
        const vary = [reply.getHeader('vary'), 'Accept, Authorization'].filter(Boolean).join(', ');
        const limits = rateLimitHeaders(request.rateLimits ?? []);
        void reply.headers({ ...headers, ...limits, vary, 'cache-control': 'private, no-cache' });
        void reply.code(text === null ? 304 : 200).type(type);
        // As bytes: Fastify adds a charset to text, which the media type does not have.
        return text === null ? undefined : Buffer.from(text);
      }),
    );
  }
}

/** SCIM 2.0, reading (RFC 7643, 7644 and 9865; docs/scim.md). */
@RequireToken()
@Controller('scim/v2')
@UseInterceptors(ScimInterceptor)
class ScimController implements OnModuleInit {
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

  @All(['Me', 'Bulk', 'ServiceProviderConfig'])
  getConfig(): Answer {
    const scheme = (type: string, name: string, description: string) => ({ type, name, description });
    const size = { defaultPageSize: LARGEST_PAGE, maxPageSize: LARGEST_PAGE };
    const document = {
      schemas: [`${CORE}ServiceProviderConfig`],
      ...{ patch: { supported: false }, changePassword: { supported: false }, sort: { supported: true } },
      bulk: { supported: false, maxOperations: 0, maxPayloadSize: 0 },
      filter: { supported: true, maxResults: LARGEST_PAGE },
      etag: { supported: true },
      pagination: { cursor: true, index: true, defaultPaginationMethod: 'index', ...size },
      authenticationSchemes: [
        scheme('oauthbearertoken', 'OAuth Bearer Token', 'An access token of the identity provider.'),
        scheme('httpbasic', 'HTTP Basic', 'The id and the secret of a service account.'),
      ],
      meta: {
        resourceType: 'ServiceProviderConfig',
        location: this.resources.urlOf('ServiceProviderConfig'),
      },
    };
    return { text: JSON.stringify(document) };
  }

  @All(['ResourceTypes', 'ResourceTypes/:id'])
  getResourceTypes(@Req() request: FastifyRequest, @CurrentPrincipal() principal: Principal): Answer {
    const documents = KINDS.map((kind) => this.resources.typeOf(kind, principal)[0].document);
    return this.describe('ResourceType', documents, request);
  }

  @All(['Schemas', 'Schemas/:id'])
  getSchemas(@Req() request: FastifyRequest, @CurrentPrincipal() principal: Principal): Answer {
    const documents = KINDS.flatMap((kind) => this.resources.typeOf(kind, principal)[0].schemas);
    return this.describe('Schema', documents, request);
  }

  @RequireScopes('directory')
  @All(['Users', 'Users/.search'])
  listUsers(@Req() request: FastifyRequest): Promise<Answer> {
    return this.list(['User'], request);
  }

  @RequireScopes('read')
  @All(['Groups', 'Groups/.search'])
  listGroups(@Req() request: FastifyRequest): Promise<Answer> {
    return this.list(['Group'], request);
  }

  @RequireScopes('read', 'directory')
  @All('.search')
  listAll(@Req() request: FastifyRequest): Promise<Answer> {
    return this.list(KINDS, request);
  }

  @RequireScopes('read')
  @All('Users/:id')
  getUser(@Req() request: FastifyRequest, @Param('id') id: string): Promise<Answer> {
    return this.get('User', id, request);
  }

  @RequireScopes('read')
  @All('Groups/:id')
  getGroup(@Req() request: FastifyRequest, @Param('id') id: string): Promise<Answer> {
    return this.get('Group', id, request);
  }

  private get(kind: Kind, id: string, request: FastifyRequest): Promise<Answer> {
    const { attributes, excludedAttributes } = request.query as Record<string, unknown>;
    const query = readQuery({ attributes, excludedAttributes });
    return this.answer(request, query, async (asked) => {
      const found = isUuid(id) ? await this.resources.read(kind, asked, { first: 1, id }) : null;
      const [resource] = found?.resources ?? [];
      if (resource === undefined) throw new ServiceError('NOT_FOUND', `There is no ${kind} with this id`);
      const { text, location, etag } = resource;
      const isKnown = matchesEtag(request.headers['if-none-match'], etag.slice(2));
      return { text: isKnown ? null : text, headers: { location, etag } };
    });
  }

  private list(kinds: readonly Kind[], request: FastifyRequest): Promise<Answer> {
    const query = readQuery(request.method === 'POST' ? bodyOf(request) : request.query);
    return this.answer(request, query, async (asked) => {
      const { texts, ...head } = await this.readAll(kinds, asked);
      const start = JSON.stringify({ schemas: LIST, ...head, itemsPerPage: texts.length }).slice(0, -1);
      return { text: `${start}${query.count === 0 ? '' : `,"Resources":[${texts.join(',')}]`}}` };
    });
  }

  /** A cursor is the kind of its resource, `.` or `~` for the page after or before that, and the cursor of a list. */
  private async readAll(kinds: readonly Kind[], asked: Asked) {
    const { count, cursor, startIndex } = asked.query;
    const [, kindOfCursor, direction, at] =
      /^(User|Group)([.~])(.*)$/s.exec(cursor || `${kinds[0] ?? ''}.`) ?? [];
    const start = kinds.findIndex((kind) => kind === kindOfCursor);
    if (start < 0) throw new ScimError('invalidCursor', 'The cursor is not one of this list: begin again');
    await asked.pay(cursor === null ? Math.floor(startIndex / SKIPPED_PER_POINT) * OBJECTS_PER_POINT : 0);
    const texts: string[] = [];
    const links: { nextCursor?: string; previousCursor?: string } = {};
    let totalResults = 0;
    for (const [index, kind] of kinds.entries()) {
      const isOther = index < start || (direction === '~' && index > start);
      const left = isOther ? 0 : count - texts.length;
      const bound = (index === start && at) || null;
      const offset = cursor === null ? Math.max(0, startIndex - 1 - totalResults) : 0;
      const page =
        direction === '~' && !isOther ? { last: left, before: bound } : { first: left, after: bound, offset };
      const { page: found, resources } = await this.resources.read(kind, asked, page, kinds.length > 1);
      totalResults += found.totalCount;
      texts.push(...resources.map(({ text }) => text));
      if (cursor === null || left === 0) continue;
      const following = kinds[index + 1];
      if (found.hasPreviousPage) links.previousCursor ??= `${kind}~${found.cursorAt(0) ?? ''}`;
      if (found.hasNextPage) links.nextCursor = `${kind}.${found.cursorAt(resources.length - 1) ?? ''}`;
      else if (resources.length === left && following !== undefined) links.nextCursor = `${following}.`;
    }
    return { totalResults, ...(cursor === null ? { startIndex } : links), texts };
  }

  /** Reads the mirror, all of one revision. */
  private async answer(
    request: FastifyRequest,
    query: ScimQuery,
    read: (asked: Asked) => Promise<Answer>,
  ): Promise<Answer> {
    const { revisions } = this.database;
    const { principal } = request;
    if (principal === null) throw new Error('The route requires a token');
    await revisions.refuseStale(readMaxStaleness(request.headers));
    const before = revisions.asOf;
    const context = new RequestContext(request, this.database, this.config.directory.visibility.bypass);
    context.reset();
    let points = 0;
    let shown = new Map<string, number>();
    const attempt = (): Promise<Answer> => {
      let objects = 0;
      shown = new Map();
      const note = (field: string, users = 1) => void shown.set(field, (shown.get(field) ?? 0) + users);
      const pay = async (more: number) => {
        objects += more;
        const cost = Math.max(1, Math.ceil(objects / OBJECTS_PER_POINT));
        if (cost > points) await this.charge(request, cost, points);
        points = Math.max(cost, points);
      };
      return read({ query, principal, context, pay, note });
    };
    let answer = await attempt();
    if (context.revisions.size > 1)
      answer = await this.database.previewTransaction(
        (transaction) => {
          context.startPreview(transaction);
          return attempt();
        },
        context.viewer,
        true,
      );
    const [revision] = context.revisions;
    const state = revision ? headersOfRead(await revisions.describe(revision, before)) : {};
    // A response without a body discloses no personal data.
    if (answer.text !== null && request.method !== 'HEAD')
      this.accessLog.note(principal, { fields: [...shown.keys()], users: [...shown.values()] });
    return { ...answer, headers: { ...answer.headers, ...state } };
  }

  /** Charges what a request costs more than before, and reports the sum. */
  private async charge(request: FastifyRequest, cost: number, before: number): Promise<void> {
    await this.limiter.charge(request, { points: cost - before }, false);
    const [requests, ...charged] = request.rateLimits ?? [];
    request.rateLimits = [requests, ...charged.slice(-1).map((each) => ({ ...each, cost }))].filter(
      (each) => each !== undefined,
    );
  }

  /** Documents about the service, or the one with an id. They are not filtered (RFC 7644 §4). */
  private describe(
    type: string,
    documents: readonly Readonly<Record<string, unknown>>[],
    { query, params }: FastifyRequest,
  ): Answer {
    const { id } = params as { id?: string };
    const all = documents.map((each) => {
      const location = this.resources.urlOf(`${type}s/${String(each['id'])}`);
      return { ...each, id: each['id'], meta: { resourceType: type, location } };
    });
    const { length } = all;
    const list = { schemas: LIST, totalResults: length, startIndex: 1, itemsPerPage: length, Resources: all };
    const found = id === undefined ? list : all.find((each) => each.id === id);
    if (found === undefined) throw new ServiceError('NOT_FOUND', `There is no ${type} with this id`);
    return { text: JSON.stringify(found) };
  }
}

/** @throws ScimError */
function bodyOf({ bodyText }: FastifyRequest): unknown {
  try {
    return JSON.parse(bodyText ?? '');
  } catch {
    throw new ScimError('invalidSyntax', 'The body is not valid JSON');
  }
}

@Module({
  imports: [GraphQLModule, GroupsModule, MediaModule, UsersModule],
  controllers: [ScimController],
  providers: [ScimInterceptor, ScimResources],
})
export class ScimModule {}
