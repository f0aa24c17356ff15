import { All, Controller, Inject, Module, Req, Res } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { AccessLog } from '../access-log/access-log.js';
import { RequireScopes, RequireToken } from '../auth/access.js';
import { ServiceError } from '../common/errors.js';
import type { Config } from '../config/config.js';
import { CONFIG } from '../config/config.module.js';
import { Database } from '../database/database.js';
import { headersOfRead, readMaxStaleness } from '../database/revisions.js';
import { GraphQLModule } from '../graphql/graphql.module.js';
import { RequestContext } from '../graphql/http/request-context.js';
import { RateLimiter, rateLimitHeaders } from '../graphql/rate-limit/rate-limiter.js';
import { GroupsModule } from '../groups/groups.module.js';
import { matchesEtag } from '../http/headers.js';
import { RejectionError } from '../http/rejection.js';
import { MediaModule } from '../media/media.module.js';
import { UsersModule } from '../users/users.module.js';
import { mediaTypeOf, readQuery, ScimError } from './scim-query.js';
import { type Asked, ScimResources } from './scim-resources.js';
import { type Json, type Kind, KINDS, WRITTEN } from './scim-schemas.js';

const OBJECTS_PER_POINT = 100;
const LIST = ['urn:ietf:params:scim:api:messages:2.0:ListResponse'];
type Read = (asked: Asked) => Promise<string | null>;

/** SCIM 2.0, reading (RFC 7643, 7644 and 9865; docs/scim.md). */
@RequireToken()
@Controller('scim/v2')
class ScimController {
  constructor(
    @Inject(CONFIG) private readonly config: Config,
    private readonly database: Database,
    private readonly limiter: RateLimiter,
    private readonly accessLog: AccessLog,
    private readonly resources: ScimResources,
  ) {}

  /** Documents about the service, which are not filtered (RFC 7644 §4). */
  @All(['ServiceProviderConfig', 'ResourceTypes/:id?', 'Schemas/:id?', 'Me', 'Bulk'])
  describe(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    const { id } = request.params as { id?: string };
    const { url = '' } = request.routeOptions;
    return this.answer(request, reply, ({ query, principal }) => {
      if (query.filter !== null) throw new ServiceError('FORBIDDEN', 'These documents cannot be filtered');
      const types = KINDS.map((kind) => this.resources.typeOf(kind, principal));
      const described = url.includes('/Schemas') ? types.flatMap(({ schemas }) => schemas) : null;
      const documents = described ?? types.map(({ document }) => document);
      const Resources = documents.map((each) => this.withMeta(each, each['id']));
      const { length } = Resources;
      const list = { schemas: LIST, totalResults: length, startIndex: 1, itemsPerPage: length, Resources };
      const one = url.endsWith('Config') ? this.withMeta(WRITTEN.ServiceProviderConfig) : list;
      const found = id === undefined ? one : Resources.find((each) => each.id === id);
      if (found === undefined) throw new ServiceError('NOT_FOUND', 'There is no document with this id');
      return Promise.resolve(JSON.stringify(found));
    });
  }

  private withMeta(document: Json, id?: unknown) {
    const resourceType = String(document['schemas']).split(':').at(-1) ?? '';
    const path = typeof id === 'string' ? `${resourceType}s/${id}` : resourceType;
    return { ...document, id, meta: { resourceType, location: this.resources.urlOf(path) } };
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
  @All(['Users/:id', 'Groups/:id'])
  get(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    const kind = request.routeOptions.url?.includes('Users') === true ? 'User' : 'Group';
    const { id } = request.params as { id: string };
    return this.answer(request, reply, async (asked) => {
      const [resource] = (await this.resources.read(kind, asked, { first: 1, id })).resources;
      if (resource === undefined) throw new ServiceError('NOT_FOUND', `There is no ${kind} with this id`);
      void reply.headers({ location: resource.location, etag: resource.etag });
      return matchesEtag(request.headers['if-none-match'], resource.etag.slice(2)) ? null : resource.text;
    });
  }

  /** Users before groups, each in the order of the query. */
  private list(kinds: readonly Kind[], request: FastifyRequest, reply: FastifyReply): Promise<void> {
    return this.answer(request, reply, async (asked) => {
      const { count, cursor, startIndex } = asked.query;
      if (kinds.length > 1 && cursor !== null)
        throw new ScimError('invalidCursor', 'Users and groups together are paged by startIndex');
      const texts: string[] = [];
      let [totalResults, next]: [number, string | null] = [0, null];
      for (const kind of kinds) {
        const offset = cursor === null ? Math.max(0, startIndex - 1 - totalResults) : 0;
        const part = { first: count - texts.length, after: cursor || null, offset, kinds };
        const { page, totalCount, resources } = await this.resources.read(kind, asked, part);
        texts.push(...resources.map(({ text }) => text));
        totalResults += totalCount;
        next = page.hasNextPage ? page.cursorAt(resources.length - 1) : null;
      }
      const paging = cursor === null ? { startIndex } : { nextCursor: next ?? undefined };
      const head = JSON.stringify({ schemas: LIST, totalResults, ...paging, itemsPerPage: texts.length });
      return `${head.slice(0, -1)}${count === 0 ? '' : `,"Resources":[${texts.join(',')}]`}}`;
    });
  }

  /** Answers a request with a text that is read from one revision. Null: the client has it. */
  private async answer(request: FastifyRequest, reply: FastifyReply, read: Read): Promise<void> {
    const { principal, method, headers, raw } = request;
    const { url = '' } = request.routeOptions;
    request.rateLimits = [];
    await this.limiter.countRequest(request);
    const allow = url.endsWith('/.search') ? 'POST' : 'GET, HEAD';
    if (/\/(?:Me|Bulk)$/.test(url)) throw new RejectionError(501, 'METHOD_NOT_ALLOWED', 'Not supported');
    if (!allow.includes(method))
      throw new RejectionError(405, 'METHOD_NOT_ALLOWED', 'The directory can only be read', { allow });
    const type = mediaTypeOf(raw);
    if (type === undefined || principal === null)
      throw new ServiceError('NOT_ACCEPTABLE', 'Accept has to allow application/scim+json');
    const query = readQuery(request);
    const { revisions } = this.database;
    await revisions.refuseStale(readMaxStaleness(headers));
    const before = revisions.asOf;
    const context = new RequestContext(request, this.database, this.config.directory.visibility.bypass);
    context.reset();
    const shown = new Map<string, number>();
    const note = (field: string, users = 1) => void shown.set(field, (shown.get(field) ?? 0) + users);
    const pay = (objects: number) =>
      this.limiter.charge(request, { points: Math.max(1, Math.ceil(objects / OBJECTS_PER_POINT)) }, false);
    const text = await read({ query, principal, context, pay, note });
    const [revision, another] = context.revisions;
    // The directory has changed in between.
    if (another !== undefined) return this.answer(request, reply, read);
    // A response without a body discloses no personal data.
    if (text !== null && method !== 'HEAD')
      this.accessLog.note(principal, { fields: [...shown.keys()], users: [...shown.values()] });
    const state = revision ? headersOfRead(await revisions.describe(revision, before)) : {};
    void reply.headers({ ...state, ...rateLimitHeaders(request.rateLimits), 'cache-control': 'no-store' });
    // As bytes: Fastify adds a charset to text, which the media type does not have.
    void reply.type(type).code(text === null ? 304 : 200);
    void reply.send(text === null ? undefined : Buffer.from(text));
  }
}

@Module({
  imports: [GraphQLModule, GroupsModule, MediaModule, UsersModule],
  controllers: [ScimController],
  providers: [ScimResources],
})
export class ScimModule {}
